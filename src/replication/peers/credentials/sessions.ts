/** Begins sessions at a peer: `POST /_session` beside its databases. */
import type { Transport } from '../transport/contract.ts';
import type { BeginSession } from './password-authorization.ts';

/** A peer that doesn't respond in this time gets the password with each request. */
const LONGEST_WAIT_MS = 10_000;

export function beginSession(transport: Transport): BeginSession {
  return async (name, password) => {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), LONGEST_WAIT_MS);
    try {
      const answer = await transport.send({
        method: 'POST',
        path: '/_session',
        ofServer: true,
        isConfidential: true,
        headers: { 'content-type': 'application/json', accept: 'application/json' },
        body: JSON.stringify({ name, password }),
        signal: controller.signal,
      });
      await answer.body.cancel();
      return answer.status === 200 ? answer.cookies : undefined;
    } catch {
      // A session is only a shortcut: the request itself finds out whether the peer can be reached.
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  };
}
