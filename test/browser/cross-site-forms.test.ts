import { describe, expect, test } from 'vitest';
import { nextPoll } from '../support/conformance/toolkit.ts';
import { useBrowserSession } from './browser-session.ts';
import { call } from './controls.ts';
import type { Tab } from './drivers/browser.ts';
import { chosenEngines } from './drivers/start.ts';

/**
 * A service worker is not told the origin of a form that is sent to one of its addresses. So a form counts as one of another site, unless
 * its referrer shows that it is the app's own.
 */
describe.each(chosenEngines())('a form in %s', (engine) => {
  const session = useBrowserSession(engine);

  /** Has the page send a form as plain text, which becomes JSON, and gives what the browser then shows. */
  async function sendForm(tab: Tab, address: string, policy: string): Promise<unknown> {
    const script = `(() => {
      const meta = Object.assign(document.createElement('meta'), { name: 'referrer', content: ${JSON.stringify(policy)} });
      document.head.append(meta);
      const form = Object.assign(document.createElement('form'), { method: 'post', enctype: 'text/plain', action: ${JSON.stringify(address)} });
      form.append(Object.assign(document.createElement('input'), { name: '{"keys":["doc"],"x":"', value: '"}' }));
      document.body.append(form);
      setTimeout(() => form.submit());
    })()`;
    // The page may be gone before it can say that it has done it.
    await tab.evaluate(script).catch(() => undefined);
    for (;;) {
      // Between two pages there is none to ask.
      const shown = await tab
        .evaluate('[location.href, document.readyState, document.body.innerText]')
        .catch(() => undefined);
      if (Array.isArray(shown) && shown[0] === address && shown[1] === 'complete') return JSON.parse(`${shown[2]}`);
      await nextPoll();
    }
  }

  test('is accepted from a page of the same origin, and refused from another site or an opaque origin', async () => {
    const site = await session.openSite();
    const app = await site.open('control');
    await call(app, 'start', { base: '/db/' });
    await call(app, 'request', 'settee', 'PUT', '/db/notes');
    const address = `${site.server.origin}/db/notes/_all_docs`;
    const answered = { total_rows: 0, offset: 0, rows: [{ key: 'doc', error: 'not_found' }] };
    const refused = { error: 'forbidden', reason: expect.stringContaining('another site') };

    expect(await sendForm(await site.open('empty'), address, 'strict-origin-when-cross-origin')).toEqual(answered);
    expect(await sendForm(await site.open('empty'), address, 'no-referrer')).toEqual(refused);
    const other = await session.openSite();
    expect(await sendForm(await other.open('empty'), address, 'strict-origin-when-cross-origin')).toEqual(refused);
    expect(await sendForm(await other.open('empty'), address, 'no-referrer')).toEqual(refused);
  });
});
