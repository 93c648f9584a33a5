package proc

import (
	"bytes"
	"errors"
	"reflect"
	"testing"

	"pgregory.net/rapid"
)

func TestOrderRoundTrip(t *testing.T) {
	text := rapid.Custom(func(t *rapid.T) string { return string(rapid.SliceOf(rapid.ByteRange(1, 255)).Draw(t, "bytes")) }) // no NUL, as in all that a process gets
	list := rapid.SliceOf(text).Filter(func(s []string) bool { return s != nil })
	rapid.Check(t, func(t *rapid.T) {
		o := order{path: text.Draw(t, "path"), dir: text.Draw(t, "dir"), argv: list.Draw(t, "argv"), env: list.Draw(t, "env")}
		frame := packOrder(o)
		kind, size, err := parseHeader([frameHeader]byte(frame), maxOrder)
		if err != nil || kind != kindOrder || size != len(frame)-frameHeader {
			t.Fatalf("header: %c, %d, %v", kind, size, err)
		}
		got, err := unpackOrder(frame[frameHeader:])
		if err != nil || !reflect.DeepEqual(got, o) {
			t.Fatalf("%+v becomes %+v, %v", o, got, err)
		}
	})
}

func TestReportRoundTrip(t *testing.T) {
	for _, r := range []report{
		{status: 0x0700, leftover: 3},
		{status: 9, spent: true},
	} {
		got, err := unpackReport(packReport(r)[frameHeader:])
		if err != nil || got != r {
			t.Errorf("%+v becomes %+v, %v", r, got, err)
		}
	}
	stopped := report{status: 0x137f}
	if _, err := unpackReport(packReport(stopped)[frameHeader:]); !errors.Is(err, errNonsense) {
		t.Errorf("a child that only stopped has ended: %v", err)
	}
}

func TestHeaderBoundsTheBody(t *testing.T) {
	if _, _, err := parseHeader([frameHeader]byte{0xff, 0xff, 0xff, 0xff, 'e'}, maxReply); !errors.Is(err, errNonsense) {
		t.Errorf("got %v", err)
	}
}

// Bytes that are taken as an order or a report are what packing it gives.
func FuzzUnpack(f *testing.F) {
	f.Add(packOrder(order{path: "/bin/sh", argv: []string{"sh", "-c", ":"}, env: []string{"A=1"}})[frameHeader:])
	f.Add(packReport(report{status: 0x0100, leftover: 2, spent: true})[frameHeader:])
	f.Add([]byte("/bin/sh\x00\x0099999999999999999999"))
	f.Fuzz(func(t *testing.T, body []byte) {
		if o, err := unpackOrder(body); err == nil && len(packOrder(o))-frameHeader > len(body) {
			t.Errorf("order %+v of %d bytes packs longer", o, len(body))
		}
		r, err := unpackReport(body)
		if err != nil {
			return
		}
		if again, err := unpackReport(packReport(r)[frameHeader:]); err != nil || again != r {
			t.Errorf("%+v becomes %+v, %v", r, again, err)
		}
		if !r.status.Exited() && !r.status.Signaled() || bytes.Equal(body, nil) {
			t.Errorf("%+v is no end", r)
		}
	})
}
