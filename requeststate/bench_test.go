package requeststate

import "testing"

func BenchmarkSeal(b *testing.B) {
	s := newSealer(b, oldKey, newKey)
	payload := quote{Version: 3, Total: 4250}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Begin(alice(), "confirm", payload); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkOpen(b *testing.B) {
	s := newSealer(b, oldKey, newKey)
	token := begin(b, s)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Open(alice(), token); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpenForged is what a token costs that is not ours.
func BenchmarkOpenForged(b *testing.B) {
	s := newSealer(b, oldKey, newKey)
	token := begin(b, newSealer(b, testKey("0a0b0c0d", 0x40)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Open(alice(), token); err == nil {
			b.Fatal("a forged token opens")
		}
	}
}
