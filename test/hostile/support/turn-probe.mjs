/**
 * Loaded into the server's process before the server (`--import`): for how long its thread is held at most, in processor time, which other
 * processes of the machine hardly change. The parent sends `begin` and `end`, and gets milliseconds.
 *
 * A timer runs once in each turn of the event loop that takes a millisecond or more, so what the thread takes between two ticks is one
 * turn, or several short ones.
 */
import { openSync, readSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';

const TICK_MS = 1;

/** Of the thread that opens it; its first number is nanoseconds on a processor. */
const file = openSync('/proc/thread-self/schedstat', 'r');
const buffer = Buffer.alloc(128);
let last = 0;
let longest = 0;
let ticks;

// Threads of the server are started with the same arguments.
if (isMainThread) process.on('message', hear);
// The parent's ear keeps no server running.
process.channel?.unref();

function hear(message) {
  if (message === 'begin') {
    longest = 0;
    last = processorMs();
    ticks ??= setInterval(note, TICK_MS);
    process.send?.('begun');
  } else if (message === 'end') {
    // Where nothing was begun since, all that was done meanwhile would look like one turn.
    if (ticks !== undefined) note();
    clearInterval(ticks);
    ticks = undefined;
    process.send?.({ longest });
    longest = 0;
  }
}

function note() {
  const now = processorMs();
  longest = Math.max(longest, now - last);
  last = processorMs();
}

function processorMs() {
  const length = readSync(file, buffer, 0, buffer.length, 0);
  return Number.parseInt(buffer.latin1Slice(0, length), 10) / 1e6;
}
