<?php
// Adds images with all sizes and texts, and prints their IDs. Arguments: the number of images, and the number of the first one.
list($count, $first) = $args;
$texts = [
	['Café am See, Zürich', 'Señor Łukasz — déjà vu', 'Beschreibung mit <em>Nachdruck</em> & "Zeichen"'],
	['Гавань на рассвете', 'Καλημέρα, кораблі', "Первая строка\nвторая строка"],
	['港の朝 写真', '日本語の代替テキスト', '説明：港 「夜明け」'],
	['ميناء عند الفجر', 'שלום עולם', 'وصف الصورة'],
];
$names = ['Café %d', 'Гавань-%d', '写真-%d', 'harbour %d'];
$kinds = ['jpg', 'jpg', 'png', 'jpg', 'gif'];
$ids = [];
for ($i = $first; $i < $first + $count; $i++) {
	list($width, $height) = $i % 50 == 7 ? [3000, 2000] : ($i % 10 == 3 ? [1200, 900] : [400, 300]);
	$kind = $i % 50 == 7 ? 'jpg' : $kinds[$i % 5];
	$image = imagecreatetruecolor($width, $height);
	imagefill($image, 0, 0, imagecolorallocate($image, $i % 256, intdiv($i, 256) % 256, 99));
	imagestring($image, 5, 10, 10, "number $i", imagecolorallocate($image, 255, 255, 255));
	ob_start();
	['jpg' => 'imagejpeg', 'png' => 'imagepng', 'gif' => 'imagegif'][$kind]($image);
	$content = ob_get_clean();
	imagedestroy($image);
	$date = sprintf('%d-%02d-%02d 0%d:30:15', 2019 + $i % 6, 1 + intdiv($i, 6) % 12, 1 + $i % 28, $i % 9);
	$file = wp_upload_bits(sprintf($names[$i % 4], $i) . ".$kind", null, $content, substr(strtr($date, '-', '/'), 0, 7));
	if ($file['error']) throw new Exception($file['error']);
	$text = $texts[$i % 4];
	$id = wp_insert_attachment(wp_slash([
		'post_mime_type' => $file['type'], 'post_title' => "$text[0] $i", 'post_excerpt' => $i % 7 ? "$text[1] <a href=\"https://example.com/$i\">→</a>" : '',
		'post_content' => $i % 3 ? $text[2] : '', 'post_date' => $date, 'post_author' => 1, 'post_status' => 'inherit', 'guid' => $file['url'],
	]), $file['file'], 0, true);
	if (is_wp_error($id)) throw new Exception($id->get_error_message());
	if ($i % 5) update_post_meta($id, '_wp_attachment_image_alt', wp_slash("$text[1] $i"));
	wp_update_attachment_metadata($id, wp_generate_attachment_metadata($id, $file['file']));
	$ids[] = $id;
}
echo json_encode($ids);
