<?php
// Adds posts that show the images, in turn as blocks and in the classic form, and prints their IDs. Arguments: the number of posts, the IDs of the images.
list($count, $images) = $args;
$ids = [];
for ($i = 0; $i < $count; $i++) {
	$id = $images[$i % count($images)];
	$next = $images[($i + 1) % count($images)];
	$full = wp_get_attachment_url($id);
	list($medium, $width, $height) = wp_get_attachment_image_src($id, 'medium');
	$other = wp_get_attachment_url($next);
	$block = "<!-- wp:paragraph -->\n<p>Grüße, мир, 写真 № $i \\ &amp; \"so\"</p>\n<!-- /wp:paragraph -->\n\n"
		. "<!-- wp:image {\"id\":$id,\"sizeSlug\":\"medium\",\"linkDestination\":\"media\"} -->\n<figure class=\"wp-block-image size-medium\"><a href=\"$full\"><img src=\"$medium\" alt=\"\" class=\"wp-image-$id\"/></a></figure>\n<!-- /wp:image -->\n\n"
		. "<!-- wp:gallery {\"linkTo\":\"none\"} -->\n<figure class=\"wp-block-gallery has-nested-images columns-default is-cropped\"><!-- wp:image {\"id\":$next,\"sizeSlug\":\"large\",\"linkDestination\":\"none\"} -->\n<figure class=\"wp-block-image size-large\"><img src=\"$other\" alt=\"\" class=\"wp-image-$next\"/></figure>\n<!-- /wp:image --></figure>\n<!-- /wp:gallery -->\n\n"
		. "<!-- wp:media-text {\"align\":\"wide\",\"mediaId\":$id,\"mediaLink\":\"$full\",\"mediaType\":\"image\"} -->\n<div class=\"wp-block-media-text alignwide is-stacked-on-mobile\"><figure class=\"wp-block-media-text__media\"><img src=\"$full\" alt=\"\" class=\"wp-image-$id size-full\"/></figure><div class=\"wp-block-media-text__content\"><!-- wp:paragraph -->\n<p>beside</p>\n<!-- /wp:paragraph --></div></div>\n<!-- /wp:media-text -->\n\n"
		. "<!-- wp:cover {\"url\":\"$full\",\"id\":$id,\"dimRatio\":50} -->\n<div class=\"wp-block-cover\"><span aria-hidden=\"true\" class=\"wp-block-cover__background has-background-dim\"></span><img class=\"wp-block-cover__image-background wp-image-$id\" alt=\"\" src=\"$full\" data-object-fit=\"cover\"/><div class=\"wp-block-cover__inner-container\"></div></div>\n<!-- /wp:cover -->\n\n"
		. "<!-- wp:file {\"id\":$next,\"href\":\"$other\",\"showDownloadButton\":false} -->\n<div class=\"wp-block-file\"><a href=\"$other\">the file</a></div>\n<!-- /wp:file -->";
	$classic = "Ein Absatz — абзац — 段落 $i\r\n\r\n<a href=\"$full\"><img class=\"alignnone size-medium wp-image-$id\" src=\"$medium\" alt=\"x\" width=\"$width\" height=\"$height\" /></a>\r\n\r\n"
		. "[caption id=\"attachment_$id\" align=\"alignnone\" width=\"$width\"]<img class=\"size-medium wp-image-$id\" src=\"$medium\" alt=\"\" width=\"$width\" height=\"$height\" /> Bildtext[/caption]\r\n\r\n"
		. "[gallery ids=\"$id,$next\" size=\"medium\"]\r\n\r\n<a href=\"$other\">Datei</a>\r\n";
	$post = wp_insert_post(wp_slash(['post_title' => "Post $i", 'post_name' => "post-$i", 'post_status' => 'publish', 'post_type' => $i % 10 == 9 ? 'page' : 'post', 'post_content' => $i % 2 ? $classic : $block, 'post_date' => sprintf('2023-%02d-%02d 10:00:00', 1 + $i % 12, 1 + $i % 28)]), true);
	if (is_wp_error($post)) throw new Exception($post->get_error_message());
	if ($i % 20 == 4) set_post_thumbnail($post, $id);
	$ids[] = $post;
}
echo json_encode($ids);
