<?php
// Adds a document, a sound and a video, and prints their IDs.
$ids = [];
foreach (['paper (final).pdf' => "%PDF-1.4\n% paper\n", 'speech.mp3' => "ID3\x03\0\0\0\0\0\0" . str_repeat("\xff\xfb\x90\0", 300), 'film.mp4' => "\0\0\0\x18ftypmp42\0\0\0\0mp42isom" . str_repeat('v', 900)] as $name => $content) {
	$file = wp_upload_bits($name, null, $content, '2022/05');
	if ($file['error']) throw new Exception($file['error']);
	$id = wp_insert_attachment(['post_mime_type' => $file['type'], 'post_title' => $name, 'post_status' => 'inherit', 'post_date' => '2022-05-06 07:08:09', 'guid' => $file['url']], $file['file'], 0, true);
	wp_update_attachment_metadata($id, wp_generate_attachment_metadata($id, $file['file']));
	$ids[] = $id;
}
echo json_encode($ids);
