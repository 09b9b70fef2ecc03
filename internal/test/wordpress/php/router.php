<?php
// Routes requests of PHP's web server: scripts of WordPress as they are, everything else to its front page script.
$folder = getenv('WORDPRESS_FOLDER');
$path = parse_url($_SERVER['REQUEST_URI'], PHP_URL_PATH);
$file = $_SERVER['DOCUMENT_ROOT'] . $path;
if (is_dir($file) && is_file(rtrim($file, '/') . '/index.php')) {
	$path = rtrim($path, '/') . '/index.php';
	$file = $_SERVER['DOCUMENT_ROOT'] . $path;
}
if (is_file($file) && substr($file, -4) !== '.php') {
	return false;
}
$script = is_file($file) ? $path : $folder . '/index.php';
$_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = $script;
$_SERVER['SCRIPT_FILENAME'] = $_SERVER['DOCUMENT_ROOT'] . $script;
chdir(dirname($_SERVER['SCRIPT_FILENAME']));
require $_SERVER['SCRIPT_FILENAME'];
