/** Requests for replications that this page has sent: those that are not continuous leave the server's list when they end. */
import { signal } from '@preact/signals';
import { ask, type JsonObject } from '../server/client.ts';
import { hasSecrets } from './secrets.ts';

export interface OwnRequest {
  readonly number: number;
  /** With passwords: it may be sent again. */
  readonly members: JsonObject;
  readonly result: JsonObject | undefined;
  readonly failure: unknown;
}

/** Newest first. */
export const ownRequests = signal<readonly OwnRequest[]>([]);

/** A failure within this time belongs to the form. */
const SOON_MS = 1_500;
/** Requests whose results are kept, until the page is closed. */
const MAX_REQUESTS = 20;

let lastNumber = 0;

/** Sends `_replicate`. Bodies with passwords are not logged. */
export function sendReplicate(members: JsonObject): Promise<JsonObject> {
  return ask('POST', '_replicate', { json: members, quiet: hasSecrets(members) });
}

/** Returns the response if it comes soon; otherwise undefined, and the list shows the outcome. Fails if the request fails soon. */
export async function startRequest(members: JsonObject): Promise<JsonObject | undefined> {
  const response = sendReplicate(members);
  const soon = await Promise.race([response, new Promise<undefined>((resolve) => setTimeout(resolve, SOON_MS))]);
  if (members.continuous !== true) keep(members, response);
  return soon;
}

/** Sends it again; the list shows the outcome. */
export function sendAgain({ number, members }: OwnRequest, more: JsonObject): void {
  forget(number);
  keep(members, sendReplicate({ ...members, ...more }));
}

export function forget(number: number): void {
  ownRequests.value = ownRequests.value.filter((one) => one.number !== number);
}

function keep(members: JsonObject, response: Promise<JsonObject>): void {
  lastNumber += 1;
  const number = lastNumber;
  ownRequests.value = [{ number, members, result: undefined, failure: undefined }, ...ownRequests.value].slice(
    0,
    MAX_REQUESTS,
  );
  const settle = (outcome: Partial<OwnRequest>) => {
    ownRequests.value = ownRequests.value.map((one) => (one.number === number ? { ...one, ...outcome } : one));
  };
  response.then(
    (result) => settle({ result }),
    (failure: unknown) => settle({ failure }),
  );
}
