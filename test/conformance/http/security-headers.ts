import { assert } from 'chai';
import { at } from '../../support/conformance/json.ts';
import { suite, test } from '../../support/conformance/suite.ts';
import type { Toolkit } from '../../support/conformance/toolkit.ts';

const POLICY = 'content-security-policy';

const FUNCTIONS = {
  shows: {
    page: 'function () { return "<script>alert(1)</script>"; }',
    own: 'function () { return { body: "x", headers: { "Content-Security-Policy": "default-src *" } }; }',
  },
  lists: { page: 'function () { send("x"); }' },
  updates: { page: 'function (doc) { return [null, "x"]; }' },
  views: { all: { map: 'function (doc) { emit(doc._id); }' } },
};

const MADE = ['_show/page', '_list/page/all', '_update/page'];

async function policiesOf(t: Toolkit): Promise<(string | undefined)[]> {
  const answers = await Promise.all(
    MADE.map((path) => t.at(path.startsWith('_update') ? 'POST' : 'GET', `/_design/d/${path}`)),
  );
  for (const answer of answers) assert.isBelow(answer.status, 300, answer.text);
  return answers.map((answer) => answer.header(POLICY));
}

/** What keeps answers from being taken for what they are not (docs/http/answers.md#sandboxed-answers). */
export default suite('security_headers', [
  test('no browser guesses the type of any response', async (t) => {
    await t.at('PUT', '/doc/page.html', { headers: { 'content-type': 'text/html' }, body: '<p>' });
    await t.put('_design/d', FUNCTIONS);
    for (const path of ['', '/doc', '/doc/page.html', '/absent', '/_all_docs', '/_design/d/_show/page', '/_x']) {
      assert.equal((await t.get(path)).header('x-content-type-options'), 'nosniff', path);
    }
    for (const path of ['/', '/_uuids', '/favicon.ico', '/absent/doc']) {
      assert.equal((await t.request('GET', path)).header('x-content-type-options'), 'nosniff', path);
    }
  }),

  test("an attachment is sandboxed, so that it isn't a page of the service", async (t) => {
    await t.at('PUT', '/doc/page.html', { headers: { 'content-type': 'text/html' }, body: '<script>x</script>' });
    assert.equal((await t.get('/doc/page.html')).header(POLICY), 'sandbox');
    assert.equal((await t.get('/doc/page.html', { 'accept-encoding': 'identity' })).header(POLICY), 'sandbox');
    assert.isUndefined((await t.get('/doc')).header(POLICY));
    assert.isUndefined((await t.get('/_all_docs')).header(POLICY));
  }),

  test('a response of a function is sandboxed', async (t) => {
    await t.put('_design/d', FUNCTIONS);
    assert.deepEqual(await policiesOf(t), ['sandbox', 'sandbox', 'sandbox']);
    assert.equal((await t.get('/_design/d/_show/own')).header(POLICY), 'default-src *, sandbox');
  }),

  test("a page of another origin can't run stored scripts and styles, but can show images", async (t) => {
    const policy = 'cross-origin-resource-policy';
    const types = { 'text/javascript': 'same-origin', 'text/css': 'same-origin', 'image/png': undefined };
    for (const [type, expected] of Object.entries(types)) {
      const path = `/files/${type.replace('/', '.')}`;
      const rev = at((await t.get('/files')).json, '_rev');
      const query = rev === undefined ? '' : `?rev=${String(rev)}`;
      const put = await t.at('PUT', `${path}${query}`, { headers: { 'content-type': type }, body: 'x' });
      assert.equal(put.status, 201, put.text);
      assert.equal((await t.get(path)).header(policy), expected, type);
    }
    await t.put('_design/d', {
      ...FUNCTIONS,
      shows: {
        script: `function () { return { body: "x", headers: {
          "Content-Type": "text/javascript", "Cross-Origin-Resource-Policy": "cross-origin" } }; }`,
        page: 'function () { return "x"; }',
      },
    });
    for (const path of ['_show/script', ...MADE.filter((made) => !made.startsWith('_update'))]) {
      const made = await t.get(`/_design/d/${path}`);
      assert.equal(made.status, 200, `${path}: ${made.text}`);
      assert.equal(made.header(policy), 'same-origin', path);
    }
  }),

  test(
    "functions can't set headers that affect the whole origin or log a user in",
    async (t) => {
      const headers = {
        'Clear-Site-Data': '"storage"',
        'Service-Worker-Allowed': '/',
        'Strict-Transport-Security': 'max-age=1',
        'Alt-Svc': 'h2="else.where:443"',
        'X-Accel-Redirect': '/private/file',
        'X-Sendfile': '/etc/passwd',
        'X-Own': 'yes',
      };
      const show = (cookie: string) =>
        `function () { return { body: "x", headers: ${JSON.stringify({ ...headers, 'Set-Cookie': cookie })} }; }`;
      const shows = { log: show('AuthSession=x; Path=/'), nameless: show('=AuthSession=x'), own: show('a=b; Path=/') };
      await t.put('_design/d', { shows });
      for (const name of Object.keys(shows)) {
        const answer = await t.get(`/_design/d/_show/${name}`);
        assert.equal(answer.header('x-own'), 'yes', answer.text);
        for (const left of Object.keys(headers)) {
          if (left !== 'X-Own') assert.isUndefined(answer.header(left.toLowerCase()), left);
        }
        assert.equal(answer.header('set-cookie'), name === 'own' ? 'a=b; Path=/' : undefined);
      }
    },
    { needs: ['forbidden-headers'] },
  ),

  test(
    'the settings can replace or remove the policies',
    async (t) => {
      const csp = { showlist_header_value: 'sandbox allow-scripts', attachments_enable: 'false' };
      const on = await t.withSettings({ csp });
      await on.put('_design/d', FUNCTIONS);
      await on.at('PUT', '/doc/a.txt', { headers: { 'content-type': 'text/plain' }, body: 'x' });
      assert.deepEqual(
        await policiesOf(on),
        MADE.map(() => 'sandbox allow-scripts'),
      );
      assert.isUndefined((await on.get('/doc/a.txt')).header(POLICY));
    },
    { needs: ['settings'] },
  ),
]);
