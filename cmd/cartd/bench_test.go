package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"text/tabwriter"
	"time"
)

// How is measured, and what is asked for.
const (
	benchClients  = 8 // at once, each a user with a cart and a connection of their own
	benchRounds   = 7 // of each in turn, so that whatever else runs here hits all alike
	benchRound    = 500 * time.Millisecond
	benchCalls    = 2000 // made one by one, to count what each costs
	maxAllocBytes = 50 << 10
)

// BenchmarkCalls measures calls through the whole server, over real connections,
// against two that do less: (a) a bare net/http handler that verifies the same
// token and runs the same store method, and (b) pgbench with the same statement.
// Between machines, and on a busy one, only the ratios can be compared.
//
// What a call allocates and how often it goes to the database does not depend on
// the machine: there the benchmark fails if it is more than it may be.
func BenchmarkCalls(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(400)) // as serve does
	s := newStand(b)
	calls := []benchCall{
		{tool: "cart_set_item", arguments: `{"cart_id":"%s","sku":"MUG-BLUE","quantity":2}`, target: 0.75, run: s.setItem},
		{tool: "cart_get", arguments: `{"cart_id":"%s"}`, target: 0.65, run: s.get},
	}
	var measured []comparison
	for _, call := range calls {
		b.Run(call.tool, func(b *testing.B) {
			var c comparison
			for b.Loop() {
				c = s.compare(b, call)
			}
			c.report(b)
			measured = append(measured, c)
		})
	}
	fmt.Printf("\n%d clients, %d CPUs, %s, medians of %d rounds\n", benchClients, runtime.GOMAXPROCS(0), s.database(b), benchRounds)
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\trequests/s\tp50\tp99\tof (a)\twanted\tof (b)\tKB/call\tallocs/call\tround trips/call\t")
	for _, c := range measured {
		c.write(table)
	}
	table.Flush()
}

// A comparison is what was measured of one call.
type comparison struct {
	benchCall
	ours, bare, pgbench sample
	ofBare, ofPgbench   float64 // medians of the rounds' own ratios
	cost                cost
}

// compare measures the three in turn, round by round.
func (s *stand) compare(b *testing.B, call benchCall) comparison {
	s.sameAnswer(b, call)
	c := comparison{benchCall: call, cost: s.cost(b, call)}
	statement := s.statement(b, call)
	var ours, bare, pg []sample
	for range benchRounds {
		ours = append(ours, s.load(b, s.ours, call))
		bare = append(bare, s.load(b, s.bare, call))
		pg = append(pg, statement.load(b))
	}
	c.ours, c.bare, c.pgbench = middle(ours), middle(bare), middle(pg)
	c.ofBare, c.ofPgbench = ratio(ours, bare), ratio(ours, pg)
	return c
}

func (c comparison) report(b *testing.B) {
	b.ReportMetric(0, "ns/op") // of a whole comparison: of no interest
	b.ReportMetric(c.ours.perSecond, "calls/s")
	b.ReportMetric(c.ofBare, "of-bare")
	b.ReportMetric(c.ofPgbench, "of-pgbench")
	b.ReportMetric(c.cost.bytes, "bytes/call")
	b.ReportMetric(c.cost.trips, "trips/call")
	if c.cost.trips != 1 {
		b.Errorf("%s makes %v round trips to the database, want exactly 1", c.tool, c.cost.trips)
	}
	if c.cost.bytes > maxAllocBytes {
		b.Errorf("%s allocates %.0f bytes, want at most %d", c.tool, c.cost.bytes, maxAllocBytes)
	}
}

func (c comparison) write(table *tabwriter.Writer) {
	fmt.Fprintf(table, "%s\t%s\t%.2f\t%.2f\t%.2f\t%.0f\t%.0f\t%.0f\t\n",
		c.tool, c.ours, c.ofBare, c.target, c.ofPgbench, c.cost.bytes/1024, c.cost.allocs, c.cost.trips)
	fmt.Fprintf(table, "(a) bare handler\t%s\t\t\t\t\t\t\t\n", c.bare)
	fmt.Fprintf(table, "(b) pgbench\t%s\t\t\t\t\t\t\t\n", c.pgbench)
}

// A sample is what one round of load showed.
type sample struct {
	perSecond float64
	p50, p99  time.Duration
}

// newSample sums up a round that took this long.
func newSample(latencies []time.Duration, took time.Duration) sample {
	slices.Sort(latencies)
	n := len(latencies)
	return sample{float64(n) / took.Seconds(), latencies[n/2], latencies[n*99/100]}
}

func (s sample) String() string {
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
	return fmt.Sprintf("%.0f\t%.2f ms\t%.2f ms", s.perSecond, ms(s.p50), ms(s.p99))
}

// middle takes the median of each number.
func middle(rounds []sample) sample {
	return sample{
		median(rounds, func(s sample) float64 { return s.perSecond }),
		time.Duration(median(rounds, func(s sample) float64 { return float64(s.p50) })),
		time.Duration(median(rounds, func(s sample) float64 { return float64(s.p99) })),
	}
}

func median(rounds []sample, number func(sample) float64) float64 {
	var all []float64
	for _, s := range rounds {
		all = append(all, number(s))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// ratio is the median of the rounds' ratios, not the ratio of medians: the two of
// one round were measured right after each other.
func ratio(of, by []sample) float64 {
	var all []float64
	for i := range of {
		all = append(all, of[i].perSecond/by[i].perSecond)
	}
	slices.Sort(all)
	return all[len(all)/2]
}
