<?php
// Installs WordPress, and prints the application password of the administrator.
$made = wp_install('Étoile & Söhne 写真', 'admin', 'admin@example.com', false, '', 'secret of the form');
update_option('siteurl', $url);
update_option('home', $url);
update_option('permalink_structure', '/%year%/%postname%/');
update_option('uploads_use_yearmonth_folders', 1);
update_option('timezone_string', 'Europe/Warsaw');
switch_theme('plain');
foreach (get_posts(['post_type' => ['post', 'page'], 'numberposts' => -1, 'post_status' => 'any']) as $p) wp_delete_post($p->ID, true);
list($password) = WP_Application_Passwords::create_new_application_password($made['user_id'], ['name' => 'assetferry']);
$user = get_user_by('id', $made['user_id']);
wp_update_user(['ID' => $user->ID, 'display_name' => 'Zoë Müller']);
flush_rewrite_rules(false);
echo json_encode(['Password' => WP_Application_Passwords::chunk_password($password), 'Version' => get_bloginfo('version')]);
