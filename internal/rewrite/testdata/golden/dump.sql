INSERT INTO `wp_posts` VALUES (1,'<p>It\'s</p>\n<img src=\"https://cdn.example.com/img/a.jpg\" srcset=\"https://cdn.example.com/img/a.jpg 1x, /files/e.png 2x\">','https://cdn.example.com/img/it\'s,me;too.jpg'),(2,'/files/e.png','x');
INSERT INTO `wp_postmeta` VALUES (1,'{\"url\":\"https:\\/\\/cdn.example.com\\/img\\/a.jpg\"}');
INSERT INTO `wp_options` VALUES (1,'a:2:{s:3:\"url\";s:33:\"https://cdn.example.com/img/a.jpg\";s:5:\"It\'s\n\";i:1;}');
INSERT INTO `wp_options` VALUES (2,'a:1:{s:4:\"all \";s:55:\"a:1:{s:1:\"u\";s:33:\"https://cdn.example.com/img/a.jpg\";}\";}');
INSERT INTO `wp_options` VALUES (3,'s:34:\"https://cdn.example.com/img/a.jpg\";');
INSERT INTO postgres VALUES (4,'s:38:"It''s https://cdn.example.com/img/a.jpg";');
