//go:build wordpress

package wordpress

import (
	"testing"

	api "assetferry/internal/wordpress"
	"assetferry/sources/sourcetest"
	"assetferry/sources/wordpress"
)

// TestLaw applies the laws of sources to a real library, by date and by post.
func TestLaw(t *testing.T) {
	s := Start(t, Options{Folder: "/blog"})
	images := s.AddImages(12, 0)
	s.AddFiles()
	s.PHP(`foreach ([1, 2, 3] as $n) wp_update_post(['ID' => $args[0][$n], 'post_parent' => $args[1][0]]);`, images, s.AddPosts(1, images))
	u, err := api.ParseURL("wordpress+" + s.URL)
	must(t, err)
	for _, folders := range []wordpress.Folders{wordpress.ByDate, wordpress.ByPost} {
		for _, o := range []api.Options{{User: s.User, Password: s.AppPassword}, {}} {
			src := wordpress.New(api.New(u, o), wordpress.Options{Folders: folders})
			if err := sourcetest.Check(t.Context(), src); err != nil {
				t.Errorf("%s, as %q: %v", folders, o.User, err)
			}
			count, attached := 0, 0
			for object, err := range src.Objects(t.Context(), "") {
				must(t, err)
				count++
				if dir, _ := object.Key.Split(); dir == "post/post-0" {
					attached++
				}
			}
			if want := map[wordpress.Folders]int{wordpress.ByDate: 0, wordpress.ByPost: 3}[folders]; count != 15 || attached != want {
				t.Errorf("%s, as %q: %d objects, %d of them in the folder of the post", folders, o.User, count, attached)
			}
			must(t, src.Close())
		}
	}
}
