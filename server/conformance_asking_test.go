//go:build conformance

//lint:file-ignore SA1019 the suite asks for roots and sampling, deprecated or not

package server

import (
	"context"
	"errors"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/mcp-cart/requeststate"
)

// askingFixtures ask in the middle of a call. Those that keep a state between
// rounds seal it, as checkout does.
type askingFixtures struct{ *Server }

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

func (f askingFixtures) fixtures() []tool {
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
		asking("request_state", f.confirm),
		asking("tampered_state", f.confirm),
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
	return &inputRequired{ResultType: "input_required", InputRequests: mcp.InputRequestMap{key: request}}, nil
}

// askWhatIsDeclared asks for nothing that the client did not say it can do.
func askWhatIsDeclared(ctx context.Context, who caller) (any, error) {
	switch {
	case who.call.elicitationForm:
		return askName(ctx, who)
	case canSample(who):
		return askPlainly(who, "capital_question", askSampling(), "content")
	}
	return nil, canAsk(who.call)
}

func (f askingFixtures) confirm(_ context.Context, who caller) (any, error) {
	ask := func(state string) *inputRequired { return askOK.ask("Is it all right?", state) }
	return f.rounds(who, ask, func(ticket *requeststate.Ticket) (any, error) {
		if did, _ := askOK.answer(who.call.answers); did == accepted {
			return say("state-ok")
		}
		state, err := ticket.Continue(askOK.key, noArgs{})
		return ask(state), err
	}, askOK)
}

// askThree asks three things at once. The state stands for all of them.
func (f askingFixtures) askThree(_ context.Context, who caller) (any, error) {
	ask := func(state string) *inputRequired {
		result := askUserName.ask("What is your name?", state)
		result.InputRequests["greeting"] = askSampling()
		result.InputRequests["client_roots"] = &mcp.ListRootsParams{}
		return result
	}
	return f.rounds(who, ask, func(ticket *requeststate.Ticket) (any, error) {
		name, ok := answerText(askUserName, who.call, "name")
		if ok && answerHas(who.call, "greeting", "content") && answerHas(who.call, "client_roots", "roots") {
			return say("Hello, " + name)
		}
		state, err := ticket.Continue(askUserName.key, noArgs{})
		return ask(state), err
	}, askUserName)
}

// askTwice carries the first answer to the last round in the state.
func (f askingFixtures) askTwice(_ context.Context, who caller) (any, error) {
	ask := func(state string) *inputRequired { return askStepOne.ask("What is your name?", state) }
	return f.rounds(who, ask, func(ticket *requeststate.Ticket) (any, error) {
		if ticket.Question() == askStepTwo.key {
			return secondStep(who, ticket)
		}
		name, ok := answerText(askStepOne, who.call, "name")
		if !ok {
			state, err := ticket.Continue(askStepOne.key, noArgs{})
			return ask(state), err
		}
		state, err := ticket.Continue(askStepTwo.key, stepOne{name})
		return askStepTwo.ask("Which colour do you like?", state), err
	}, askStepOne, askStepTwo)
}

type stepOne struct{ Name string }

func secondStep(who caller, ticket *requeststate.Ticket) (any, error) {
	var kept stepOne
	if err := ticket.Payload(&kept); err != nil {
		return nil, badState(err)
	}
	color, ok := answerText(askStepTwo, who.call, "color")
	if !ok {
		state, err := ticket.Continue(askStepTwo.key, kept)
		return askStepTwo.ask("Which colour do you like?", state), err
	}
	return say(kept.Name + " likes " + color)
}

// rounds asks, and from then on hands the opened state to next. The first of the
// questions is the one that ask puts.
func (f askingFixtures) rounds(who caller, ask func(state string) *inputRequired, next func(*requeststate.Ticket) (any, error), questions ...question) (any, error) {
	binding := f.bind(who, noArgs{}, questions...)
	if who.call.state == nil {
		state, err := f.sealer.Begin(binding, questions[0].key, noArgs{})
		return ask(state), err
	}
	ticket, err := f.sealer.Open(binding, *who.call.state)
	if errors.Is(err, requeststate.ErrInvalid) {
		return nil, badState(err)
	}
	if err != nil {
		return nil, err
	}
	return next(ticket)
}

// prompt asks before it is shown.
func (f askingFixtures) prompt(ctx context.Context, _ *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	who, ok := callerFrom(ctx)
	if !ok {
		return nil, errors.New("a prompt without a caller")
	}
	ask := func(state string) *inputRequired { return askContext.ask("What is it about?", state) }
	result, err := f.rounds(who, ask, func(ticket *requeststate.Ticket) (any, error) {
		if text, ok := answerText(askContext, who.call, "context"); ok {
			return userSays(&mcp.TextContent{Text: "With " + text}), nil
		}
		state, err := ticket.Continue(askContext.key, noArgs{})
		return ask(state), err
	}, askContext)
	if asked, ok := result.(*inputRequired); ok && err == nil {
		return &mcp.GetPromptResult{InputRequests: asked.InputRequests, RequestState: asked.RequestState}, nil
	}
	shown, _ := result.(*mcp.GetPromptResult)
	return shown, err
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
