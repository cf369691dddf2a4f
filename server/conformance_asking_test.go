//go:build conformance

//lint:file-ignore SA1019 the suite asks for roots and sampling, deprecated or not

package server

import (
	"context"
	"errors"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/mcp-cart/requeststate"
)

// askingFixtures ask in the middle of a call. Those that keep a state between
// rounds seal it, as checkout does.
type askingFixtures struct{ sealer *requeststate.Sealer }

func newAskingFixtures(t testing.TB) *askingFixtures {
	ring, err := requeststate.ParseRing(requeststate.NewKeyLine())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := requeststate.NewKeys(ring)
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := requeststate.NewSealer(keys)
	if err != nil {
		t.Fatal(err)
	}
	return &askingFixtures{sealer}
}

func textForm(member string) string {
	return `{"type": "object", "required": ["` + member + `"], "properties": {"` + member + `": {"type": "string"}}}`
}

// The keys of the questions are the suite's.
var (
	askUserName = question{"user_name", textForm("name")}
	askStepOne  = question{"step1", textForm("name")}
	askStepTwo  = question{"step2", textForm("color")}
	askContext  = question{"user_context", textForm("context")}
	askOK       = question{"confirm", `{"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"}}}`}
)

func askSampling() *mcp.CreateMessageParams {
	return &mcp.CreateMessageParams{MaxTokens: 100, Messages: []*mcp.SamplingMessage{
		{Role: "user", Content: &mcp.TextContent{Text: "What is the capital of France?"}},
	}}
}

func (f *askingFixtures) tools() []tool {
	asking := func(name string, run func(context.Context, caller) (any, error)) tool {
		return fixture("test_input_required_result_"+name, "Asks in the middle of a call.", run)
	}
	return []tool{
		asking("elicitation", askName),
		asking("sampling", func(_ context.Context, who caller) (any, error) {
			return askPlainly(who, "capital_question", askSampling(), "content")
		}),
		asking("list_roots", func(_ context.Context, who caller) (any, error) {
			return askPlainly(who, "client_roots", &mcp.ListRootsParams{}, "roots")
		}),
		asking("capabilities", askWhatIsDeclared),
		asking("request_state", f.confirm("test_input_required_result_request_state")),
		asking("tampered_state", f.confirm("test_input_required_result_tampered_state")),
		asking("multiple_inputs", f.askThree),
		asking("multi_round", f.askTwice),
	}
}

// askName keeps no state: three scenarios send an answer with their first call.
func askName(_ context.Context, who caller) (any, error) {
	if name, ok := answerText(askUserName, who.call, "name"); ok {
		return say("Hello, " + name)
	}
	return askUserName.ask("What is your name?", ""), nil
}

// askPlainly asks for something else than a form, which needs no state either.
func askPlainly(who caller, key string, request mcp.InputRequest, member string) (any, error) {
	if answerHas(who.call, key, member) {
		return say("done")
	}
	return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{key: request}}, nil
}

// askWhatIsDeclared asks for nothing that the client did not say it can do.
func askWhatIsDeclared(ctx context.Context, who caller) (any, error) {
	caps := requestFrom(ctx).ClientCapabilities()
	switch {
	case who.call.elicitationForm:
		return askName(ctx, who)
	case caps != nil && caps.Sampling != nil:
		return askPlainly(who, "capital_question", askSampling(), "content")
	}
	return nil, canAsk(who.call)
}

func (f *askingFixtures) confirm(name string) func(context.Context, caller) (any, error) {
	return func(_ context.Context, who caller) (any, error) {
		binding := bindFixture(who, "tools/call", name, askOK)
		return f.rounds(who, binding, askOK, func(ticket *requeststate.Ticket) (any, error) {
			if reaction, _ := askOK.answer(who.call.answers); reaction == accepted {
				return say("state-ok")
			}
			state, err := ticket.Continue(askOK.key, noArgs{})
			return askOK.ask("Is it all right?", state), err
		})
	}
}

// askTwice carries the first answer to the last round in the state.
func (f *askingFixtures) askTwice(_ context.Context, who caller) (any, error) {
	binding := bindFixture(who, "tools/call", "test_input_required_result_multi_round", askStepOne, askStepTwo)
	return f.rounds(who, binding, askStepOne, func(ticket *requeststate.Ticket) (any, error) {
		type payload struct{ Name string }
		var kept payload
		if ticket.Question() == askStepOne.key {
			name, ok := answerText(askStepOne, who.call, "name")
			if !ok {
				state, err := ticket.Continue(askStepOne.key, noArgs{})
				return askStepOne.ask("What is your name?", state), err
			}
			kept.Name = name
		} else if err := ticket.Payload(&kept); err != nil {
			return nil, badState(err)
		} else if color, ok := answerText(askStepTwo, who.call, "color"); ok {
			return say(kept.Name + " likes " + color)
		}
		state, err := ticket.Continue(askStepTwo.key, kept)
		return askStepTwo.ask("Which colour do you like?", state), err
	})
}

// askThree asks three things at once. The state stands for all of them.
func (f *askingFixtures) askThree(_ context.Context, who caller) (any, error) {
	ask := func(state string) *mcp.CallToolResult {
		result := askUserName.ask("What is your name?", state)
		result.InputRequests["greeting"] = askSampling()
		result.InputRequests["client_roots"] = &mcp.ListRootsParams{}
		return result
	}
	binding := bindFixture(who, "tools/call", "test_input_required_result_multiple_inputs", askUserName)
	result, err := f.rounds(who, binding, askUserName, func(ticket *requeststate.Ticket) (any, error) {
		name, ok := answerText(askUserName, who.call, "name")
		if ok && answerHas(who.call, "greeting", "content") && answerHas(who.call, "client_roots", "roots") {
			return say("Hello, " + name)
		}
		state, err := ticket.Continue(askUserName.key, noArgs{})
		return ask(state), err
	})
	if asked, ok := result.(*mcp.CallToolResult); ok && err == nil && asked.InputRequests != nil {
		return ask(asked.RequestState), nil
	}
	return result, err
}

// rounds asks the first question, and from then on hands the opened state to
// next.
func (f *askingFixtures) rounds(who caller, b requeststate.Binding, first question, next func(*requeststate.Ticket) (any, error)) (any, error) {
	if who.call.state == nil {
		state, err := f.sealer.Begin(b, first.key, noArgs{})
		return first.ask("Please answer.", state), err
	}
	ticket, err := f.sealer.Open(b, *who.call.state)
	if errors.Is(err, requeststate.ErrInvalid) {
		return nil, badState(err)
	}
	if err != nil {
		return nil, err
	}
	return next(ticket)
}

func bindFixture(who caller, method, name string, questions ...question) requeststate.Binding {
	b := requeststate.Binding{
		Audience: "test://conformance",
		Issuer:   who.Issuer, Subject: who.Subject, ClientID: who.ClientID, Owner: who.UserID(),
		Method: method, Tool: name, Arguments: noArgs{},
	}
	for _, q := range questions {
		b.Questions = append(b.Questions, q.key)
	}
	return b
}

// addPrompt adds the prompt that asks before it is shown.
func (f *askingFixtures) addPrompt(sdk *mcp.Server) {
	const name = "test_input_required_result_prompt"
	sdk.AddPrompt(&mcp.Prompt{Name: name, Description: "Asks before it is shown."}, func(ctx context.Context, _ *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		who, ok := callerFrom(ctx)
		if !ok {
			return nil, errors.New("a prompt without a caller")
		}
		binding := bindFixture(who, "prompts/get", name, askContext)
		result, err := f.rounds(who, binding, askContext, func(ticket *requeststate.Ticket) (any, error) {
			if text, ok := answerText(askContext, who.call, "context"); ok {
				return userSays(&mcp.TextContent{Text: "With " + text}), nil
			}
			state, err := ticket.Continue(askContext.key, noArgs{})
			return askContext.ask("What is it about?", state), err
		})
		if asked, ok := result.(*mcp.CallToolResult); ok && err == nil {
			return &mcp.GetPromptResult{InputRequests: asked.InputRequests, RequestState: asked.RequestState}, nil
		}
		shown, _ := result.(*mcp.GetPromptResult)
		return shown, err
	})
}

// answerText is one text of an accepted form.
func answerText(q question, c *call, member string) (string, bool) {
	var form map[string]string
	reaction, content := q.answer(c.answers)
	if reaction != accepted || jsonv2.Unmarshal(content, &form) != nil {
		return "", false
	}
	text, ok := form[member]
	return text, ok
}

// answerHas tells whether the answer under a key is an object with this member.
func answerHas(c *call, key, member string) bool {
	var answers map[string]map[string]jsontext.Value
	return len(c.answers) > 0 && jsonv2.Unmarshal(c.answers, &answers) == nil && answers[key][member] != nil
}
