package storetest

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync"
	"testing"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/store"
)

// A cut breaks the first connection over which COMMIT is sent. What it breaks
// is the network: the server's end finds out when it reads or writes. The cancel
// request that pgx then sends, over another connection, is lost as well.
type cut struct {
	deliver bool   // whether the COMMIT still arrives
	then    func() // runs once it has been sent, before the break
	once    sync.Once
}

func (c *cut) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &cutConn{conn, c}, nil
}

// cancelRequest is how the message that cancels a statement begins: its length,
// 16, and a protocol number of its own, 1234.5678.
var cancelRequest = []byte{0, 0, 0, 16, 0x04, 0xd2, 0x16, 0x2e}

type cutConn struct {
	net.Conn
	cut *cut
}

func (c *cutConn) Write(b []byte) (int, error) {
	if bytes.HasPrefix(b, cancelRequest) {
		return len(b), c.Close()
	}
	if !bytes.Contains(b, []byte("commit\x00")) {
		return c.Conn.Write(b)
	}
	n, err := len(b), error(nil)
	broken := false
	c.cut.once.Do(func() {
		broken = true
		if c.cut.deliver {
			n, err = c.Conn.Write(b)
		}
		c.cut.then()
		_ = c.Close()
	})
	if !broken {
		return c.Conn.Write(b)
	}
	return n, err
}

func (s *suite) testCommit(t *testing.T) {
	t.Run("cut off before COMMIT arrives: nothing has happened, and the flow still works", func(t *testing.T) {
		key := s.cartOf(t, s.product(t, 1))
		before, c := s.row(t, key), s.checkout(t, key)
		p := s.open(t, "", store.WithDial((&cut{then: func() {}}).dial))
		if _, err := c.confirm(t.Context(), p); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("PlaceOrder = %v, want ErrUnavailable", err)
		}
		if after := s.row(t, key); after != before {
			t.Errorf("the cart changed to %s", after)
		}
		s.wantOrders(t, key.Owner(), 0, 0)
		if _, err := c.confirm(t.Context(), p); err != nil {
			t.Errorf("the same flow afterwards = %v", err)
		}
	})
	t.Run("cut off before the answer to COMMIT arrives, and the caller left too: the order is known", func(t *testing.T) {
		sku := s.product(t, 2)
		key := s.cartOf(t, sku)
		c := s.checkout(t, key)
		ctx, hangUp := context.WithCancel(t.Context())
		committed := func() {
			s.eventually(t, "the commit", `SELECT count(*) = 1 FROM orders WHERE user_id = $1`, key.Owner())
			hangUp()
		}
		p := s.open(t, "", store.WithDial((&cut{deliver: true, then: committed}).dial))
		order, err := c.confirm(ctx, p)
		if err != nil || order.ID.IsZero() {
			t.Fatalf("PlaceOrder = %v, %v, want the order", order.ID, err)
		}
		_, err = c.confirm(t.Context(), p)
		s.wantRedeemed(t, err, store.OutcomeOrdered, order.ID.Reveal())
		s.wantOrders(t, key.Owner(), 1, 1)
		if stock := s.stock(t, sku); stock != 1 {
			t.Errorf("stock = %d, want 1", stock)
		}
	})
	t.Run("cut off while COMMIT is still running: it is waited for", func(t *testing.T) {
		s.testCommitStillRuns(t, func(c checkout, p *store.Postgres) error {
			order, err := c.confirm(context.Background(), p)
			if err == nil && order.ID.IsZero() {
				err = errors.New("no order")
			}
			return err
		}, 1)
	})
	t.Run("cut off while the COMMIT of a decline is still running: it is waited for", func(t *testing.T) {
		s.testCommitStillRuns(t, func(c checkout, p *store.Postgres) error {
			return c.decline(context.Background(), p)
		}, 0)
	})
	t.Run("cut off, and another call redeems the flow: that is not taken for one's own", func(t *testing.T) {
		key := s.cartOf(t, "T-001")
		c := s.checkout(t, key)
		declined := make(chan error, 1)
		meanwhile := func() {
			go func() { declined <- c.decline(context.Background(), s.store) }()
			s.awaitBlocked(t, 1)
		}
		p := s.open(t, "", store.WithDial((&cut{then: meanwhile}).dial))
		if _, err := c.confirm(t.Context(), p); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("PlaceOrder = %v, want ErrUnavailable", err)
		}
		if err := <-declined; err != nil {
			t.Errorf("decline = %v", err)
		}
		s.wantOrders(t, key.Owner(), 0, 1)
	})
	t.Run("the session ended in the middle: nothing has happened, and the flow still works", func(t *testing.T) {
		p, c := s.single(t, "terminated_tx"), s.checkout(t, s.cartOf(t, "T-001"))
		before := s.stock(t, "T-001")
		err := p.InTx(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			redeemed, err := c.ticket.Redeem(ctx, tx, store.OutcomeOrdered, handles.Mint(handles.Order).Reveal())
			if err != nil {
				return err
			}
			if _, err := tx.PlaceOrder(ctx, redeemed, c.what); err != nil {
				return err
			}
			s.exec(t, `SELECT pg_terminate_backend($1)`, p.backend(t))
			return nil
		})
		if !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("InTx = %v, want ErrUnavailable", err)
		}
		s.wantOrders(t, c.what.Cart.Owner(), 0, 0)
		if after := s.stock(t, "T-001"); after != before {
			t.Errorf("stock went from %d to %d", before, after)
		}
		if _, err := c.confirm(t.Context(), p.Postgres); err != nil {
			t.Errorf("the same flow afterwards = %v", err)
		}
	})
	t.Run("a hang-up does not stop a transaction that has begun", func(t *testing.T) {
		p, c := s.single(t, "hang_up_tx"), s.checkout(t, s.cartOf(t, "T-001"))
		backend := p.backend(t)
		ctx, hangUp := context.WithCancel(t.Context())
		err := p.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
			hangUp()
			redeemed, err := c.ticket.Redeem(ctx, tx, store.OutcomeOrdered, handles.Mint(handles.Order).Reveal())
			if err != nil {
				return err
			}
			_, err = tx.PlaceOrder(ctx, redeemed, c.what)
			return err
		})
		if err != nil {
			t.Errorf("InTx = %v, want success", err)
		}
		s.wantOrders(t, c.what.Cart.Owner(), 1, 1)
		if got := p.backend(t); got != backend {
			t.Errorf("the connection was replaced: server process %d, then %d", backend, got)
		}
	})
}

// testCommitStillRuns makes COMMIT wait for a lock, breaks the connection, and
// lets COMMIT go on only when the store has begun to find out about it.
func (s *suite) testCommitStillRuns(t *testing.T, do func(checkout, *store.Postgres) error, orders int) {
	const name = "commit_still_runs"
	s.exec(t, `CREATE OR REPLACE FUNCTION wait_at_commit() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN IF current_setting('application_name') = '`+name+`' THEN PERFORM pg_advisory_xact_lock(42); END IF; RETURN NULL; END $$`)
	s.exec(t, `DROP TRIGGER IF EXISTS wait_at_commit ON redemptions`)
	s.exec(t, `CREATE CONSTRAINT TRIGGER wait_at_commit AFTER INSERT ON redemptions
		DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_at_commit()`)
	t.Cleanup(func() { s.exec(t, `DROP TRIGGER IF EXISTS wait_at_commit ON redemptions`) })

	key := s.cartOf(t, s.product(t, 1))
	c := s.checkout(t, key)
	_, release := s.hold(t, `SELECT pg_advisory_xact_lock(42)`)
	running := func() {
		s.eventually(t, "COMMIT to wait", `SELECT count(*) = 1 `+backends+` AND wait_event = 'advisory'`, name)
	}
	p := s.open(t, "&application_name="+name, store.WithDial((&cut{deliver: true, then: running}).dial))
	result := make(chan error, 1)
	go func() { result <- do(c, p) }()
	s.eventually(t, "the store to look", `SELECT count(*) = 1 `+backends+` AND wait_event = 'transactionid'`, name)
	release()
	if err := <-result; err != nil {
		t.Errorf("the call = %v, want success", err)
	}
	s.wantOrders(t, key.Owner(), orders, 1)
}
