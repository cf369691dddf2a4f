package main

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
)

// database is the part of the configuration that serve and migrate share.
type database struct {
	URL     string `env:"DATABASE_URL"`
	URLFile string `env:"DATABASE_URL_FILE,file"`
}

// config is the environment of `cartd serve`. The README's table is compared
// with it by a test.
type config struct {
	Database database

	ListenAddr  string `env:"LISTEN_ADDR" envDefault:"127.0.0.1:8080"`
	MetricsAddr string `env:"METRICS_ADDR"`
	ResourceURL string `env:"RESOURCE_URL,required,notEmpty"`

	OAuthIssuer         string   `env:"OAUTH_ISSUER,required,notEmpty"`
	OAuthJWKSURL        string   `env:"OAUTH_JWKS_URL"`
	OAuthTokenTyp       string   `env:"OAUTH_TOKEN_TYP"`
	OAuthAllowHTTPHosts []string `env:"OAUTH_ALLOW_HTTP_HOSTS"`

	RequestStateKeys     string `env:"REQUEST_STATE_KEYS"`
	RequestStateKeysFile string `env:"REQUEST_STATE_KEYS_FILE"`

	AllowedOrigins []string `env:"ALLOWED_ORIGINS"`
	AllowedHosts   []string `env:"ALLOWED_HOSTS"`
	ProtocolEras   eras     `env:"PROTOCOL_ERAS" envDefault:"all"`
	RateLimit      int      `env:"RATE_LIMIT" envDefault:"20"`

	ShutdownDelay   time.Duration `env:"SHUTDOWN_DELAY" envDefault:"1s"`
	JanitorInterval time.Duration `env:"JANITOR_INTERVAL" envDefault:"1m"`
	LogLevel        slog.Level    `env:"LOG_LEVEL" envDefault:"INFO"`
}

// eras says which protocol revisions are served: "all", or "modern" for
// 2026-07-28 alone.
type eras string

func (e *eras) UnmarshalText(text []byte) error {
	switch v := eras(text); v {
	case "all", "modern":
		*e = v
		return nil
	}
	return errors.New(`must be "all" or "modern"`)
}

func loadConfig() (config, error) {
	cfg, err := env.ParseAs[config]()
	if err != nil {
		return config{}, fmt.Errorf("configuration: %w", err)
	}
	if err := cfg.Database.settle(); err != nil {
		return config{}, err
	}
	if (cfg.RequestStateKeys == "") == (cfg.RequestStateKeysFile == "") {
		return config{}, errors.New("configuration: set REQUEST_STATE_KEYS_FILE or REQUEST_STATE_KEYS, not both: every replica needs the same key ring, `cartd keygen` prints a line for it")
	}
	if cfg.RateLimit < 1 || cfg.JanitorInterval <= 0 || cfg.ShutdownDelay < 0 {
		return config{}, errors.New("configuration: RATE_LIMIT and JANITOR_INTERVAL must be positive, SHUTDOWN_DELAY not negative")
	}
	return cfg, nil
}

func loadMigrateConfig() (database, error) {
	d, err := env.ParseAs[database]()
	if err != nil {
		return database{}, fmt.Errorf("configuration: %w", err)
	}
	return d, d.settle()
}

// settle lets the URL, which holds a password, come from a file instead.
func (d *database) settle() error {
	if (d.URL == "") == (d.URLFile == "") {
		return errors.New("configuration: set DATABASE_URL or DATABASE_URL_FILE, not both")
	}
	if d.URL == "" {
		d.URL = strings.TrimSpace(d.URLFile) // files end with a line end
	}
	return nil
}
