// The official TypeScript client, told what to do by lines of JSON.
//
//   node typescript.mjs '{"endpoint": …, "redirect": …, "program": {…}, "era": …, "forms": …}'
//
// In:   {"do": "tools"} or {"do": "call", "tool": …, "arguments": {…}, "answers": […]}
// Out:  one line for each: {"tools": […]} or {"structured": …, "failed": …, "asked": […]}
// When someone has to sign in, {"open": URL} comes out first and wants the line
// {"redirect": URL} that a browser would be sent to.
import { createInterface } from 'node:readline';
import { Client, ClientCredentialsProvider, StreamableHTTPClientTransport, UnauthorizedError } from '@modelcontextprotocol/client';

const { endpoint, redirect, program, era, forms = true } = JSON.parse(process.argv[2]);
const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const read = async () => JSON.parse((await lines.next()).value);
const write = (message) => process.stdout.write(JSON.stringify(message) + '\n');

// Person keeps what an application would keep for its user.
class Person {
  #kept = {};
  #keep = (name, value) => { this.#kept[name] = value; };
  get redirectUrl() { return redirect; }
  get clientMetadata() {
    return { client_name: 'typescript', redirect_uris: [redirect], grant_types: ['authorization_code', 'refresh_token'], token_endpoint_auth_method: 'none' };
  }
  state = () => crypto.randomUUID();
  clientInformation = () => this.#kept.client;
  saveClientInformation = (client) => this.#keep('client', client);
  tokens = () => this.#kept.tokens;
  saveTokens = (tokens) => this.#keep('tokens', tokens);
  codeVerifier = () => this.#kept.verifier;
  saveCodeVerifier = (verifier) => this.#keep('verifier', verifier);
  discoveryState = () => this.#kept.discovery;
  saveDiscoveryState = (discovery) => this.#keep('discovery', discovery);
  redirectToAuthorization = (url) => write({ open: url.href });
}

const authProvider = program
  ? new ClientCredentialsProvider({ clientId: program.id, clientSecret: program.secret, expectedIssuer: program.issuer })
  : new Person();
const newTransport = () => new StreamableHTTPClientTransport(new URL(endpoint), { authProvider });

let answers = [];
let asked = [];
let transport;
let client;

// signedIn repeats what failed because somebody has to sign in, once.
async function signedIn(attempt) {
  try {
    return await attempt();
  } catch (error) {
    if (!UnauthorizedError.isInstance(error)) throw error;
    await transport.finishAuth(new URL((await read()).redirect).searchParams);
    return attempt();
  }
}

async function connect() {
  client = new Client({ name: 'typescript', version: '1' }, {
    versionNegotiation: { mode: era === 'legacy' ? 'legacy' : { pin: '2026-07-28' } },
    capabilities: forms ? { elicitation: { form: {} } } : {},
  });
  if (forms) client.setRequestHandler('elicitation/create', (request) => {
    asked.push(request.params.message);
    return answers.shift() ?? { action: 'cancel' };
  });
  transport = newTransport();
  await client.connect(transport);
}

async function call({ tool, arguments: args, answers: given }) {
  [answers, asked] = [given ?? [], []];
  try {
    const result = await signedIn(() => client.callTool({ name: tool, arguments: args }));
    if (result.isError) return { failed: result.content[0].text, asked };
    return { structured: result.structuredContent, failed: '', asked };
  } catch (error) {
    return { failed: `${error.constructor.name} ${error.code ?? ''}: ${error.message}`, asked };
  }
}

// It connects with the first command, so that no line of that can be taken for
// the end of a sign-in.
for await (const line of { [Symbol.asyncIterator]: () => lines }) {
  const command = JSON.parse(line);
  if (!client) await signedIn(connect);
  if (command.do === 'call') write(await call(command));
  else write({ tools: (await signedIn(() => client.listTools())).tools.map((tool) => tool.name) });
}
await client.close();
