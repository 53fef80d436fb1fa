import { expect, test } from 'vitest';
import { MessageBatch } from '../../../../src/browser/bridge/message-batch.ts';

function batchAndMessages() {
  const messages: { readonly parts: readonly number[]; readonly ports: readonly MessagePort[] }[] = [];
  return { messages, batch: new MessageBatch<number>((parts, ports) => messages.push({ parts, ports })) };
}

const turnsEnd = () => new Promise((resolve) => setImmediate(resolve));

test('messages of one turn are sent as one, in order, at the end of the turn', async () => {
  const { batch, messages } = batchAndMessages();
  for (const part of [1, 2, 3]) batch.add(part);
  expect(messages).toEqual([]);
  await turnsEnd();
  batch.add(4);
  await turnsEnd();
  expect(messages.map(({ parts }) => parts)).toEqual([[1, 2, 3], [4]]);
});

test('ports are sent with the message of their part', async () => {
  const { batch, messages } = batchAndMessages();
  const { port1, port2 } = new MessageChannel();
  batch.add(1);
  batch.add(2, port1);
  await turnsEnd();
  batch.add(3, port2);
  await turnsEnd();
  expect(messages.map(({ ports }) => ports)).toEqual([[port1], [port2]]);
  port1.close();
});

test('many parts are sent sixteen at a time, so that the other side can begin', async () => {
  const { batch, messages } = batchAndMessages();
  for (let part = 0; part < 40; part++) batch.add(part);
  expect(messages.map(({ parts }) => parts.length)).toEqual([16, 16]);
  await turnsEnd();
  expect(messages.map(({ parts }) => parts.length)).toEqual([16, 16, 8]);
  expect(messages.flatMap(({ parts }) => parts)).toEqual(Array.from({ length: 40 }, (_, part) => part));
});
