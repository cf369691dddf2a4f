package requeststate

// Redeemed proves that a flow was redeemed, once, in a transaction. Only
// [Ticket.Redeem] makes one that proves anything. The effect takes it as an
// argument and asks [Redeemed.In] before it does anything.
type Redeemed struct {
	tx           Redeemer
	owner        [16]byte
	flow         FlowID
	outcome, ref string
}

// In says whether the redemption was recorded in this very transaction, which
// must be a comparable value such as a pointer. It is false for the zero value,
// the one Redeemed that can be made without redeeming, and for one kept from a
// transaction that is over.
func (r Redeemed) In(tx Redeemer) bool { return r.tx != nil && r.tx == tx }

// Owner is the user whose flow it was.
func (r Redeemed) Owner() [16]byte { return r.owner }

// Flow is the flow that was redeemed.
func (r Redeemed) Flow() FlowID { return r.flow }

// Outcome is what was recorded to have come of it.
func (r Redeemed) Outcome() string { return r.outcome }

// Ref is what was recorded to have been made, such as an order id.
func (r Redeemed) Ref() string { return r.ref }
