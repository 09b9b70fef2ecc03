package rendition

import (
	"errors"
	"image"
	"image/color"
	"testing"
)

// TestEdit verifies the position of the top left pixel of a 4 × 2 image after edits.
func TestEdit(t *testing.T) {
	m := image.NewRGBA(image.Rect(0, 0, 4, 2))
	m.SetRGBA(0, 0, color.RGBA{255, 255, 255, 255})
	p := Picture{stored: m, turned: upright}
	for name, test := range map[string]struct {
		edit Edit
		size image.Point
		at   image.Point // position of the white pixel
	}{
		"nothing":            {Edit{}, image.Pt(4, 2), image.Pt(0, 0)},
		"crop":               {Edit{Crop: image.Rect(0, 0, 3, 1)}, image.Pt(3, 1), image.Pt(0, 0)},
		"right":              {Edit{Quarters: 1}, image.Pt(2, 4), image.Pt(1, 0)},
		"half":               {Edit{Quarters: 2}, image.Pt(4, 2), image.Pt(3, 1)},
		"left":               {Edit{Quarters: -1}, image.Pt(2, 4), image.Pt(0, 3)},
		"five times":         {Edit{Quarters: 5}, image.Pt(2, 4), image.Pt(1, 0)},
		"mirror x":           {Edit{MirrorX: true}, image.Pt(4, 2), image.Pt(3, 0)},
		"mirror y":           {Edit{MirrorY: true}, image.Pt(4, 2), image.Pt(0, 1)},
		"mirror both":        {Edit{MirrorX: true, MirrorY: true}, image.Pt(4, 2), image.Pt(3, 1)},
		"turn before mirror": {Edit{Quarters: 1, MirrorX: true}, image.Pt(2, 4), image.Pt(0, 0)},
		"crop before turn":   {Edit{Crop: image.Rect(0, 0, 3, 2), Quarters: 1}, image.Pt(2, 3), image.Pt(1, 0)},
		"enlarge":            {Edit{Size: image.Pt(8, 4)}, image.Pt(8, 4), image.Pt(0, 0)},
		"by width":           {Edit{Size: image.Pt(8, 0)}, image.Pt(8, 4), image.Pt(0, 0)},
		"by height":          {Edit{Quarters: 1, Size: image.Pt(0, 8)}, image.Pt(4, 8), image.Pt(3, 0)},
	} {
		got, err := p.Edit(test.edit, 1000)
		if err != nil || got.Bounds() != (image.Rectangle{Max: test.size}) {
			t.Errorf("%s: %v, %v", name, got, err)
			continue
		}
		if r, _, _, _ := got.At(test.at.X, test.at.Y).RGBA(); r>>8 < 200 {
			t.Errorf("%s: no white at %v", name, test.at)
		}
	}
	for name, edit := range map[string]Edit{
		"part outside": {Crop: image.Rect(2, 0, 5, 2)}, "too large": {Size: image.Pt(100, 11)}, "far too large": {Size: image.Pt(1<<31, 1<<31)},
		"negative": {Size: image.Pt(-3, 4)},
	} {
		if _, err := p.Edit(edit, 1000); !errors.Is(err, ErrEdit) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if r, _, _, _ := m.At(0, 0).RGBA(); r != 0xffff {
		t.Error("the original has changed")
	}
}
