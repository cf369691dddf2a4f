package server

import (
	"encoding/json"
	"net/http"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/mcp-cart/requeststate"
	"example.com/mcp-cart/store"
)

// A question is one input request of a multi round-trip call (specification,
// basic/patterns/mrtr). Its key stands for its schema too: a state sealed with
// the question is answered under that key and by that schema, so a question
// whose schema changes needs another key.
type question struct {
	key    string
	schema string // flat JSON Schema of the form's content
}

// ask ends a round: the client is to put the question to a person and repeat the
// call with the answer and the state.
func (q question) ask(message, state string) *inputRequired {
	return &inputRequired{
		ResultType: "input_required",
		InputRequests: mcp.InputRequestMap{q.key: &mcp.ElicitParams{
			Mode:            "form",
			Message:         message,
			RequestedSchema: json.RawMessage(q.schema),
		}},
		RequestState: state,
	}
}

// A reaction is what a person did with a question.
type reaction int

const (
	noAnswer  reaction = iota // missing, malformed, or not one of the others: ask again
	accepted                  // the form was sent; its content is still to be judged
	declined                  // the person said no
	cancelled                 // the person closed the question without deciding
)

// answer finds the reaction to the question among the inputResponses of a
// call. Answers to other questions are ignored, whatever they are.
func (q question) answer(responses jsontext.Value) (reaction, jsontext.Value) {
	if len(responses) == 0 {
		return noAnswer, nil
	}
	var all map[string]jsontext.Value
	var one struct {
		Action  string         `json:"action"`
		Content jsontext.Value `json:"content"`
	}
	if jsonv2.Unmarshal(responses, &all) != nil || jsonv2.Unmarshal(all[q.key], &one) != nil {
		return noAnswer, nil
	}
	switch one.Action {
	case "accept":
		return accepted, one.Content
	case "decline":
		return declined, nil
	case "cancel":
		return cancelled, nil
	}
	return noAnswer, nil
}

// errOldClient is for clients of the handshake era, which have no way to answer
// a question in the middle of a call without a session.
var errOldClient = &toolError{"old_client", "this needs a client that speaks MCP 2026-07-28, which can answer questions in the middle of a call; yours cannot. Nothing was changed and the cart is kept: finish with such a client"}

// canAsk refuses a call of a tool that asks questions from a client that cannot
// show a form. Nothing has been sealed by then.
func canAsk(c *call) error {
	if c.elicitationForm {
		return nil
	}
	refused := refuse(http.StatusBadRequest, mcp.CodeMissingRequiredClientCapabilities, "capability",
		"this tool asks the user a question: the client must declare the elicitation capability with form mode")
	refused.data = map[string]any{"requiredCapabilities": map[string]any{"elicitation": map[string]any{"form": map[string]any{}}}}
	return refused
}

// outcomeDeclined is what a flow is redeemed with when the person says no.
const outcomeDeclined = "declined"

// badState is the one answer to every state that does not open. Why it did not
// is in the log; the client can only start over.
func badState(err error) error {
	return &refusal{
		status:  http.StatusOK,
		code:    jsonrpc.CodeInvalidParams,
		message: "Invalid or expired requestState; repeat the call without requestState and inputResponses",
		data:    map[string]string{"reason": "invalid_request_state"},
		reason:  "state_" + requeststate.Reason(err),
		cause:   err,
	}
}

// spentState tells the rightful owner of a state that it has been used, and what
// came of it, so that a client which lost the answer does not buy twice.
func spentState(e *requeststate.RedeemedError) error {
	data := map[string]string{"reason": "already_redeemed", "outcome": e.Outcome}
	if e.Outcome == store.OutcomeOrdered {
		data["order_id"] = e.Ref
	}
	return &refusal{
		status:  http.StatusOK,
		code:    jsonrpc.CodeInvalidParams,
		message: "this requestState was used before; data says what came of it",
		data:    data,
		reason:  "state_redeemed",
		cause:   e,
	}
}
