import { describe, expect, test } from 'vitest';
import { isDatabaseError } from '../../../../src/base/errors/database-error.ts';
import { parseHeaders } from '../../../../src/replication/jobs/endpoint.ts';

const rules = { isAdmin: false, allowed: ['X-Tenant', 'Ident'], withMeaning: ['X-Visitor', 'Ident', 'X-Api-Token'] };

function refusal(name: string): string | undefined {
  try {
    parseHeaders('source.headers', { [name]: 'x' }, rules);
    return undefined;
  } catch (error) {
    if (isDatabaseError(error, 'bad_request')) return error.reason;
    throw error;
  }
}

describe('headers that a peer trusts because of their sender are for admins only', () => {
  test.each([
    ...['X-Auth-Svc-UserName', 'x-auth-svc-roles', 'X-Auth-CouchDB-Token', 'X_Auth_Svc_UserName', 'x.auth.user'],
    ...[
      'X-Forwarded-For',
      'X-Forwarded-Host',
      'X-FORWARDED-PROTO',
      'X-Forwarded-Ssl',
      'X-Forwarded',
      'Forwarded',
      'Via',
    ],
    ...[
      'X-Real-IP',
      'X-Client-IP',
      'True-Client-IP',
      'CF-Connecting-IP',
      'Remote-User',
      'X-Remote-User',
      'SSL-Client-DN',
    ],
    ...[
      'Host',
      'Origin',
      'Referer',
      'Sec-Fetch-Site',
      'Proxy-Authorization',
      'Proxy-Connection',
      'Connection',
      'Keep-Alive',
    ],
    ...[
      'TE',
      'Trailer',
      'Transfer-Encoding',
      'Upgrade',
      'Content-Length',
      'Content-Encoding',
      'Expect',
      'HTTP2-Settings',
    ],
    ...['X-HTTP-Method-Override', 'X-Original-URL', 'X-Rewrite-URL', 'X-Svc-Vhost-Path', 'x-couchdb-requested-path'],
    ...['x-visitor', 'IDENT', 'X_Visitor', 'X-Api-Token', 'X_Api_Key', 'X.Tenant'],
    // Of proxies and gateways that sign in.
    ...['X-Authentik-Username', 'X-Consumer-Username', 'X-Scheme', 'X-Webauth-User', 'X-MS-Client-Principal-Name'],
    ...['X-Cluster-Client-IP', 'X-Goog-IAP-JWT-Assertion', 'X-Pomerium-Claim-Email', 'X-Vouch-User', 'X-Token-Subject'],
    ...['X-Userinfo', 'X-Credential-Identifier', 'X-Anonymous-Consumer', 'Authors', 'X-Authority', 'Viable', 'X-New'],
  ])('%s is refused for users', (name) => {
    expect(refusal(name)).toContain(`has ${name}:`);
    expect(parseHeaders('source.headers', { [name]: 'x' }, { ...rules, isAdmin: true })).toEqual({
      [name.toLowerCase()]: 'x',
    });
  });
});

test.each([
  ...['Authorization', 'Cookie', 'X-Api-Key', 'X-Tenant', 'Accept', 'User-Agent', 'X-Request-Id', 'Accept-Language'],
  ...['X-Svc-Full-Commit', 'x-couch-full-commit', 'Content-Type', 'x-tenant', 'traceparent'],
])('header %s is allowed for all users', (name) => {
  expect(refusal(name)).toBeUndefined();
});
