import { expect, test } from 'vitest';
import { Outbox } from '../../../src/bridge/wire/message-batch.ts';

function outboxAndMessages() {
  const messages: { readonly parts: readonly number[]; readonly ports: readonly MessagePort[] }[] = [];
  return { messages, outbox: new Outbox<number>((parts, ports) => messages.push({ parts, ports })) };
}

const soon = () => new Promise((resolve) => setImmediate(resolve));

test('what is put in within one turn leaves as one message, in order, and at the turn’s end', async () => {
  const { outbox, messages } = outboxAndMessages();
  for (const part of [1, 2, 3]) outbox.put(part);
  expect(messages).toEqual([]);
  await soon();
  outbox.put(4);
  await soon();
  expect(messages.map(({ parts }) => parts)).toEqual([[1, 2, 3], [4]]);
});

test('ports go with the message of their part', async () => {
  const { outbox, messages } = outboxAndMessages();
  const { port1, port2 } = new MessageChannel();
  outbox.put(1);
  outbox.put(2, port1);
  await soon();
  outbox.put(3, port2);
  await soon();
  expect(messages.map(({ ports }) => ports)).toEqual([[port1], [port2]]);
  port1.close();
});

test('many parts leave sixteen at a time, so that the other side can begin', async () => {
  const { outbox, messages } = outboxAndMessages();
  for (let part = 0; part < 40; part++) outbox.put(part);
  expect(messages.map(({ parts }) => parts.length)).toEqual([16, 16]);
  await soon();
  expect(messages.map(({ parts }) => parts.length)).toEqual([16, 16, 8]);
  expect(messages.flatMap(({ parts }) => parts)).toEqual(Array.from({ length: 40 }, (_, part) => part));
});
