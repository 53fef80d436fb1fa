import { describe } from './failures.ts';
import { shorten, textOf } from './values.ts';

const MAX_MESSAGES = 100;
const MAX_LENGTH = 1000;

const messages: string[] = [];

/** The helper `log`. Messages are kept until the call ends, and bounded, so that a function can't flood the service's log. */
export function log(message: unknown): void {
  if (messages.length >= MAX_MESSAGES) return;
  messages.push(shorten(typeof message === 'string' ? message : describe(message), MAX_LENGTH));
}

/** Returns the messages so far as a JSON array, and forgets them; empty if there are none. */
export function takeMessages(): string {
  return messages.length > 0 ? textOf(messages.splice(0)) : '';
}
