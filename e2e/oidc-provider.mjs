// The npm package oidc-provider as the authorization server of one MCP server,
// configured as an operator would do it; see its own documentation for each
// setting. It keeps everything in memory and signs anyone in by name, so it is
// for tests only.
//
//   node oidc-provider.mjs '{"issuer": …, "resource": …, "scopes": […], "clients": […]}'
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import Provider, { errors } from 'oidc-provider';

const { issuer, resource, scopes, clients } = JSON.parse(process.argv[2]);

// The one resource there are tokens for, and how they look: JWTs of RFC 9068.
const server = {
  audience: resource,
  scope: scopes.join(' '),
  accessTokenFormat: 'jwt',
  accessTokenTTL: 15 * 60,
  jwt: { sign: { alg: 'ES256' } },
};

const key = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey.export({ format: 'jwk' });

const provider = new Provider(issuer, {
  clients,
  clientDefaults: { id_token_signed_response_alg: 'ES256' }, // RS256 otherwise, for which there is no key
  jwks: { keys: [{ ...key, alg: 'ES256', use: 'sig', kid: 'first' }] },
  cookies: { keys: [randomBytes(32).toString('base64url')] },
  findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  pkce: { required: () => true },
  features: {
    clientCredentials: { enabled: true },
    registration: { enabled: true },
    devInteractions: { enabled: true },
    resourceIndicators: {
      enabled: true,
      // Some clients name no resource when they ask for client credentials.
      defaultResource: () => resource,
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, asked) => {
        if (asked !== resource) throw new errors.InvalidTarget();
        return server;
      },
    },
  },
  // Clients register with the scope of their first request. Kept, it would be
  // the most they can ever ask for, and no step-up could succeed.
  extraClientMetadata: {
    properties: ['registered_with'],
    validator: (_ctx, _key, _value, metadata) => { delete metadata.scope; },
  },
});

const { hostname, port } = new URL(issuer);
provider.listen(Number(port), hostname, () => console.log('listening on', issuer));
