package server

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// specTable says which tests show what revision 2026-07-28 of the specification
// demands of this server, by page (docs/specification/2026-07-28). What is
// demanded of features it does not offer (resources, prompts, subscriptions, URL
// elicitation) is left out: [TestWhatIsNotDeclaredIsNotFound] shows that they are
// not there.
func specTable() map[string]map[string]string {
	return map[string]map[string]string{
		"basic/transports/streamable-http": {
			"Origin is validated on every connection, 403":         "TestPagesOfOtherOriginsAreRefused TestOriginAndHostAreJudgedIndependently",
			"one request or notification in a body, no batch":      "TestOneRequestOrNotificationPerPost TestTextBesideTheOneObjectIsRefused",
			"notification accepted: 202, no body":                  "TestNotificationsAreAcceptedAndDoNothing TestWire",
			"notification not accepted: error without id":          "TestCallWithoutIDIsNotCarriedOut",
			"answer is one JSON object or an event stream":         "TestOnlyACallWithNewsIsAStream",
			"a stream holds what concerns its request":             "TestOnlyACallWithNewsIsAStream",
			"no requests on a stream; the answer ends it":          "TestOnlyACallWithNewsIsAStream",
			"X-Accel-Buffering: no":                                "TestOnlyACallWithNewsIsAStream",
			"what is sent arrives at once":                         "TestNewsIsSentBeforeTheToolEnds",
			"closing the connection cancels":                       "TestClosingTheRequestCancelsTheTool TestHangingUpCancelsAReadAndLeavesAWriteWhole",
			"version header on every request, equal to _meta":      "TestVersionHeaderIsNeededOnceAndEqual",
			"version not served: 400, -32022 and the list":         "TestUnsupportedVersionIsToldWhatIsServed",
			"unknown method: 404, -32601":                          "TestUnknownMethodIsNotFound TestWhatIsNotDeclaredIsNotFound",
			"Mcp-Method and Mcp-Name mirror the body":              "TestMirroredHeadersMustMatchTheBody TestChecksRunInTheDocumentedOrder",
			"base64 values are decoded before comparison":          "TestEncodedNameIsDecodedBeforeItIsCompared",
			"x-mcp-header marks are well-formed":                   "TestMarksThatClientsWouldRejectAreErrors TestSchemasMirrorNothingAndReferToNothing",
			"Mcp-Param headers equal the arguments":                "TestRepeatedArgumentsMustMatchTheirHeaders",
			"a mismatch is 400, -32020 with the id":                "TestVersionHeaderIsNeededOnceAndEqual TestNoChangedCallIsCarriedOut",
			"GET and DELETE: 405":                                  "TestOtherMethodsAreNotAllowed TestWire",
			"Mcp-Session-Id and Last-Event-ID are ignored":         "TestThereAreNoSessions TestHeadersOfEarlierRevisionsAreIgnored",
			"a request of an earlier revision is told apart":       "TestEraIsDecidedByAnySignOfTheModernOne TestMirroredHeadersCannotBeUsedInTheHandshakeEra",
			"what cannot be read in time or size is an error":      "TestSlowBodyIsCutOffThroughEveryLayer TestBodyOverTheLimitIsAnsweredReadably",
			"pages of listed origins can read every answer":        "TestPagesOfListedOriginsCanReadEveryAnswer TestPreflightOfAListedOriginNeedsNoToken",
			"media type is parsed; Accept is not held against one": "TestOnlyPlainJSONIsReceived TestEveryAcceptIsTolerated",
		},
		"basic/index": {
			"JSON-RPC 2.0 in UTF-8":                              "TestOneRequestOrNotificationPerPost TestAmbiguousJSONIsRefused",
			"the id is a string or an integer":                   "TestOtherIDsAreRefused",
			"the answer carries the same id":                     "TestEveryAnswerRepeatsTheIDByteForByte TestSameIDOfTwoUsersIsTwoCalls",
			"resultType in every result, of the known ones":      "TestEveryResultSaysItsTypeAndWhoAnswered",
			"errors carry the id unless it cannot be read":       "TestIDIsKeptByteForByte TestAmbiguousJSONIsRefused",
			"error codes are those of the specification":         "TestNoErrorCodeIsOfOurOwn",
			"nothing is inferred from earlier requests":          "TestNothingOfOneRequestReachesTheNextOfItsConnection TestTokenIsCheckedOnEveryRequestOfAConnection",
			"state across requests has an explicit name":         "cmd/cartd.TestCartMovesBetweenReplicasAndOutlivesThem",
			"own schemas are valid and fetch nothing":            "TestStructuredContentFitsItsSchemaAndEqualsTheText TestSchemasMirrorNothingAndReferToNothing",
			"_meta keys are the reserved ones, used as meant":    "TestEveryResultSaysItsTypeAndWhoAnswered",
			"_meta fields are required: 400, -32602":             "TestMetaFieldsAreNeededAndWellFormed",
			"undeclared capability: 400, -32021, what is needed": "TestClientThatCannotAskIsToldBeforeAnythingIsSealed TestFormsAreOnlyShownToClientsThatDeclareThem",
			"serverInfo in every result":                         "TestEveryResultSaysItsTypeAndWhoAnswered",
			"clientInfo changes nothing":                         "TestWhatAClientSaysOfItselfGoesNoFurther",
		},
		"basic/patterns/mrtr": {
			"questions only inside results, only where allowed": "TestQuestionCarriesNoContentAndAnAnswerNoQuestion TestMethodsThatAskNothingTakeNoAnswer",
			"a state is attacker-controlled input":              "requeststate.FuzzOpen TestRequestStateIsAStringOrAbsent",
			"a state that was tampered with is rejected":        "requeststate.TestEveryChangedByteIsRefused requeststate.TestSplicedTokensAreRefused TestRefusalsReadTheSame",
			"bound to the principal, the call, its arguments":   "TestStateOpensOnlyForItsCallerAndItsCall requeststate.TestForeignRequestIsRefusedAndSpoilsNothing",
			"short-lived":                                 "requeststate.TestRoundLivesFiveMinutes requeststate.TestFlowLivesThirtyMinutes",
			"at most once, enforced by the server":        "TestParallelConfirmationsMakeOneOrder TestSpentStateNamesWhatItDid cmd/cartd.TestFiftyConfirmationsOfOneCartMakeOneOrder",
			"a retry is not to be counted on":             "TestStateSurvivesAFailedEffect TestDeclineIsFinalAndCancelIsNot",
			"a retry has another id and another spelling": "TestSameCallSpelledDifferentlyIsTheSameCall",
			"answers are validated; others are ignored":   "FuzzAnswer TestInputResponsesAreAnObjectOrAbsent TestOnlyAYesOrders",
			"a missing answer is asked for again":         "TestOnlyAYesOrders TestShippingIsOneOfThoseOffered",
			"any replica takes the next round":            "cmd/cartd.TestNoAndYesAtOnceOnTwoReplicasAreOneOfTheTwo",
		},
		"client/elicitation": {
			"decline, cancel and failure are handled":    "TestDeclineIsFinalAndCancelIsNot",
			"bound to client and user":                   "TestStateOpensOnlyForItsCallerAndItsCall",
			"what comes back is validated by the schema": "FuzzAnswer TestOnlyAYesOrders",
			"the person sees what they agree to":         "TestQuestionShowsEveryLineAndTheWholeTotal TestWhatMovedIsAskedAgainInTheSameFlow",
		},
		"server/tools": {
			"the list depends on nothing but the token":         "TestToolsListIsTheSameForTheSameScopes TestToolsListShowsWhatTheTokenAllows",
			"input schemas are closed; names are well-formed":   "TestToolWithoutScopeOrWithAnOpenSchemaIsRefusedAtStart TestDeclarationsAreHonest",
			"structured content fits its schema, equals text":   "TestStructuredContentFitsItsSchemaAndEqualsTheText",
			"inputs are validated":                              "TestHostileArgumentsAreRefusedAndChangeNothing",
			"access is controlled":                              "TestEveryToolNeedsItsScopes TestForeignHandleIsUnknownToEveryTool",
			"calls are limited":                                 "TestRateLimitIsPerUser",
			"unknown tool: -32602; a tool's own error: isError": "TestUnknownToolIsInvalidParams TestMistypedHandleIsToldSo",
			"outputs are clean":                                 "TestUnlistedErrorIsInternalWithAnIDToAskAbout",
			"lifetimes are stated; expired is said":             "TestDescriptionsStateTheRealLifetime TestExpiredCartIsGoneForEveryTool",
		},
		"server/discover": {
			"discovery lists what is served, and that alone": "TestDiscoveryListsTheVersionsThatAreServed TestWhatIsNotDeclaredIsNotFound",
		},
		"basic/versioning": {
			"an error to initialize names the versions": "TestOnlyTheModernEraIsServedWhereToldSo TestInitializeIsOfferedAVersionOfItsEra",
		},
		"server/utilities/caching": {
			"hints on discovery and lists, none on questions": "TestOnlyDiscoveryAndListsSayHowLongTheyKeep",
			"access is decided at the call":                   "TestScopesAreComparedAgainAtTheTool TestEveryToolNeedsItsScopes",
		},
		"basic/patterns/cancellation": {
			"calls have a time limit":     "TestCallIsEndedAfterItsTime",
			"races with the end are safe": "TestHangingUpCancelsAReadAndLeavesAWriteWhole TestHangingUpLeavesNothingOfAWriteThatFails",
		},
		"server/utilities/pagination": {
			"invalid cursor: -32602": "TestCursorThatIsNotOursIsInvalid",
		},
		"basic/authorization": {
			"metadata names resource and issuers (RFC 9728)":      "TestMetadataIsReadableByEverybodyAtBothPaths auth.TestMetadataDocument",
			"challenges have a scope and lead to the metadata":    "TestEveryChallengeIsWellFormedAndLeadsOn auth.TestChallenges",
			"no token in the query; a token on every request":     "TestTokenInQueryOrBodyIsNoToken TestTokenComesFirst",
			"tokens are validated; this server is their audience": "auth.TestBadClaimsAreRefused auth.TestBrokenTokensAreRefused",
			"403 names all scopes of the operation":               "TestEveryToolNeedsItsScopes TestEveryChallengeIsWellFormedAndLeadsOn",
			"a broad scope implies its parts":                     "TestToolsListShowsWhatTheTokenAllows auth.TestScopes",
		},
	}
}

func TestSpecTableNamesTestsThatAreThere(t *testing.T) {
	known := map[string][]string{}
	for _, pkg := range []string{"", "auth", "requeststate", "cmd/cartd"} {
		dir := "."
		if pkg != "" {
			dir = filepath.Join("..", pkg)
		}
		files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`).FindAllStringSubmatch(string(text), -1) {
				known[pkg] = append(known[pkg], m[1])
			}
		}
	}
	for page, rows := range specTable() {
		for statement, tests := range rows {
			for test := range strings.FieldsSeq(tests) {
				pkg, name := "", test
				if i := strings.LastIndex(test, "."); i >= 0 {
					pkg, name = test[:i], test[i+1:]
				}
				if !slices.Contains(known[pkg], name) {
					t.Errorf("%s, %q: there is no test %s", page, statement, test)
				}
			}
		}
	}
}
