package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/mcp-cart/requeststate"
)

// keygen prints a line for the key ring.
func keygen(w io.Writer) error {
	_, err := fmt.Fprintln(w, requeststate.NewKeyLine())
	return err
}

// loadKeys reads the key ring. A replica that has no usable one does not start:
// it would refuse every state that another replica has sealed.
func loadKeys(cfg config) (*requeststate.Keys, error) {
	ring, err := loadRing(cfg)
	if err != nil {
		return nil, fmt.Errorf("requestState keys: %w", err)
	}
	return requeststate.NewKeys(ring)
}

func loadRing(cfg config) (*requeststate.Ring, error) {
	if cfg.RequestStateKeysFile != "" {
		return requeststate.ReadRing(cfg.RequestStateKeysFile)
	}
	return requeststate.ParseRing(cfg.RequestStateKeys)
}

// watchKeys follows the key file until the context ends, on its own and on
// SIGHUP. A ring from the environment cannot change.
func watchKeys(ctx context.Context, cfg config, keys *requeststate.Keys, hup <-chan os.Signal, log *slog.Logger) error {
	if cfg.RequestStateKeysFile == "" {
		return nil
	}
	return keys.Watch(ctx, cfg.RequestStateKeysFile, hup, func(load requeststate.Load) {
		if load.Err != nil {
			log.ErrorContext(ctx, "requestState keys refused, the ring in force stays", "err", load.Err, "keys", load.Keys)
			return
		}
		log.InfoContext(ctx, "requestState keys loaded", "keys", load.Keys)
	})
}

// keyMetrics shows the ids of the keys in force, so that an operator sees on
// every replica that a rotation's step has arrived before taking the next.
type keyMetrics struct{ keys *requeststate.Keys }

func keyInfoDesc() *prometheus.Desc {
	return prometheus.NewDesc("requeststate_key_info", "The requestState keys in force: 1 for each, with mint=true for the one that seals.", []string{"id", "mint"}, nil)
}

func (keyMetrics) Describe(ch chan<- *prometheus.Desc) { ch <- keyInfoDesc() }

func (m keyMetrics) Collect(ch chan<- prometheus.Metric) {
	for _, k := range m.keys.IDs() {
		ch <- prometheus.MustNewConstMetric(keyInfoDesc(), prometheus.GaugeValue, 1, k.ID, fmt.Sprint(k.Mint))
	}
}
