package localpg

import (
	"context"
	"crypto/rand"
	"fmt"
	"time"

	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/modules/postgres"
)

// image is the server that the compose file runs, too.
const image = "postgres:17-alpine"

// startDocker runs the server in a container, which testcontainers' reaper
// removes if we are killed. Docker publishes its port; only the password,
// random as everywhere, keeps others out.
func startDocker(ctx context.Context) (*Server, error) {
	if err := dockerRuns(ctx); err != nil {
		return nil, err
	}
	password := rand.Text()
	container, err := postgres.Run(ctx, image,
		postgres.WithUsername("mcpcart"), postgres.WithDatabase("postgres"), postgres.WithPassword(password),
		postgres.BasicWaitStrategies())
	stop := func() error {
		if err := testcontainers.TerminateContainer(container, testcontainers.StopTimeout(time.Second)); err != nil {
			return fmt.Errorf("stop the PostgreSQL container: %w", err)
		}
		return nil
	}
	if err != nil {
		_ = stop() // the first error tells more
		return nil, fmt.Errorf("start PostgreSQL in Docker: %w", err)
	}
	url, err := container.ConnectionString(ctx, "sslmode=disable")
	if err != nil {
		_ = stop()
		return nil, fmt.Errorf("start PostgreSQL in Docker: %w", err)
	}
	return newServer(url, "Docker, "+image, stop), nil
}

// dockerRuns tells an absent Docker from one that fails: testcontainers panics
// on some machines where there is none.
func dockerRuns(ctx context.Context) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("docker: %w (%v)", errAbsent, cause)
		}
	}()
	provider, err := testcontainers.NewDockerProvider()
	if err == nil {
		defer provider.Close()
		err = provider.Health(ctx)
	}
	if err != nil {
		return fmt.Errorf("docker: %w (%v)", errAbsent, err)
	}
	return nil
}
