<!DOCTYPE html>
<html <?php language_attributes(); ?>>
<head><meta charset="<?php bloginfo('charset'); ?>"><?php wp_head(); ?></head>
<body <?php body_class(); ?>>
<?php while (have_posts()) : the_post(); ?>
<article id="post-<?php the_ID(); ?>">
<h1><?php the_title(); ?></h1>
<?php the_post_thumbnail('large'); ?>
<?php the_content(); ?>
</article>
<?php endwhile; ?>
<?php wp_footer(); ?>
</body>
</html>
