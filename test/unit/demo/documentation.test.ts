import { describe, expect, test } from 'vitest';
import { titleOf, toHtml } from '../../../demo/build/markdown.ts';
import { documentation } from '../../../demo/build/pages.ts';

const files = documentation();
const pages = [...files].filter(([name]) => name.endsWith('.html'));

describe('the documentation that the demo serves', () => {
  test('has the pages that the demo links to, and all that these lead to', () => {
    expect(pages.map(([name]) => name)).toEqual(
      expect.arrayContaining([
        'docs/README.html',
        'docs/docs/README.html',
        'docs/src/README.html',
        'docs/docs/http/views.html',
      ]),
    );
    expect(pages.length).toBeGreaterThan(30);
  });

  test.each(pages)('has no broken link and no leftover mark-up in %s', (_name, content) => {
    const html = String(content);
    const ids = (text: string) => new Set([...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
    const broken = [...html.matchAll(/ (?:href|src|srcset)="([^"]+)"/g)]
      .map(([, link = '']) => link.replaceAll('&amp;', '&'))
      .filter((link) => !/^https?:/.test(link) && !['/', '/favicon.svg'].includes(link))
      .filter((link) => {
        const [path = '', anchor] = link.split('#');
        const target = path === '' ? html : files.get(path.slice(1));
        return target === undefined || (anchor !== undefined && !ids(String(target)).has(decodeURIComponent(anchor)));
      });
    expect(broken).toEqual([]);
    const text = html.replace(/<(pre|code)>.*?<\/\1>/gs, '').replace(/<[^>]+>/g, '');
    expect(text.match(/.{0,20}(\]\(|\*\*|`[^`']+`|^#+ |\|---).{0,20}/gm)).toBe(null);
  });
});

describe('a page of the documentation as HTML', () => {
  const html = (markdown: string) => toHtml(markdown, (target) => (target === 'gone.md' ? undefined : `/x/${target}`));

  test('has the blocks and the links of its Markdown', () => {
    expect(html('# A `b` c\n\nOne **two** *three*\nfour [five](six.md#seven) [eight](gone.md) `a < b`.')).toBe(
      '<h1 id="a-b-c">A <code>b</code> c</h1>\n' +
        '<p>One <strong>two</strong> <em>three</em>\nfour <a href="/x/six.md#seven">five</a> eight <code>a &lt; b</code>.</p>',
    );
    expect(html('- one\n  more\n- two\n\n  ```sh\n  ls *\n  ```\n\nAfter')).toBe(
      '<ul><li>one\nmore</li>\n<li>two\n<pre><code>ls *</code></pre></li></ul>\n<p>After</p>',
    );
    expect(html('| a | b |\n|---|---|\n| `x\\|y` | [![p](q.webp)](r.md) |')).toBe(
      '<div class="frame"><table><thead><tr><th>a</th><th>b</th></tr></thead><tbody>' +
        '<tr><td><code>x|y</code></td><td><a href="/x/r.md"><img src="/x/q.webp" alt="p"></a></td></tr></tbody></table></div>',
    );
  });

  test('has no HTML that its text only shows', () => {
    expect(html('a <script> & "b"\n\n```html\n<p title="c">\n```')).toBe(
      '<p>a &lt;script&gt; &amp; &quot;b&quot;</p>\n<pre><code>&lt;p title=&quot;c&quot;&gt;</code></pre>',
    );
  });

  test('is named by its first heading', () => {
    expect(titleOf('\n# The `x` of it\n\n## Other\n')).toBe('The x of it');
  });
});
