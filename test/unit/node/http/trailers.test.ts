import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../../../src/base/shared/clock.ts';
import { createCore } from '../../../../src/core/core.ts';
import { deferredAtHand } from '../../../../src/core/deferred/deferred-code.ts';
import { listen } from '../../../../src/node/http/http-server.ts';
import { createListener } from '../../../../src/node/http/listener.ts';
import { createMemoryPageStore } from '../../../../src/storage/memory-page-store.ts';
import { ask } from '../../http/support.ts';

/** Of `hello`. */
const MD5 = 'XUFAKrxLKna5cZ2REBfFkg==';

test('the checksum of an attachment can be in the trailer, and is checked (docs/http/attachments.md#writing-an-attachment)', async () => {
  const storage = createMemoryPageStore();
  const core = await createCore({ storage, clock: systemClock, random: systemRandom, deferred: deferredAtHand() });
  const server = await listen(
    createListener(core.handle, () => undefined),
    '127.0.0.1',
    0,
  );
  try {
    await ask(core, 'PUT /db');
    for (const [sum, status] of [
      ['XUFAKrxLKna5cZ2REBfFkQ==', 400],
      ['nonsense', 400],
      [MD5, 201],
    ]) {
      const asked = request(`${server.url}db/doc/a`, { method: 'PUT', agent: false });
      asked.setHeader('trailer', 'content-md5');
      asked.write('hello');
      asked.addTrailers({ 'content-md5': `${sum}` });
      asked.end();
      const [answer]: IncomingMessage[] = await once(asked, 'response');
      expect([answer?.statusCode, answer && (await text(answer))]).toEqual([
        status,
        expect.stringContaining(status === 400 ? 'content_md5_mismatch' : '"ok":true'),
      ]);
    }
  } finally {
    await server.close();
    await core.close();
  }
});
