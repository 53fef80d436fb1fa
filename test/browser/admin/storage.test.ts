import { describe, expect, test } from 'vitest';
import { chosenEngines } from '../drivers/start.ts';
import { useAdminPage } from './admin-page.ts';

describe.each(chosenEngines())(
  'storage, security and changes of a database on the administration page in %s',
  (engine) => {
    const page = useAdminPage(engine);

    /** Chooses a file with that text. */
    async function choose(name: string, text: string): Promise<void> {
      await page.until(
        `(() => { const input = document.querySelector('input[type=file]'); if (input === null) return false;
        const chosen = new DataTransfer(); chosen.items.add(new File([${JSON.stringify(text)}], ${JSON.stringify(name)}));
        input.files = chosen.files; input.dispatchEvent(new Event('change', { bubbles: true })); return true; })()`,
        'a field for a file',
      );
    }

    test('imports JSON lines, and names the lines that are refused', async () => {
      await page.serve();
      await page.ask('PUT', 'library');
      await page.ask('PUT', 'library/a', { old: true });
      await page.showToAdmin('#/db/library/storage');
      await choose('three.jsonl', '{"_id":"a"}\n{"_id":"b","n":1}\nnot JSON\n{"_id":"c"}\n');
      await page.press('Review and import');
      await page.sees('3 documents of the file (51 B) are written to library, in requests of at most 500 documents.');
      await page.sees('1 line is no JSON object, and is refused.');
      await page.sees(`await fetch("/library/_bulk_docs", { method: 'POST',`);
      await page.hasFocus('Import');
      await page.enter();
      await page.sees('2 documents stored from three.jsonl. 2 lines refused.');
      await page.sees('Line 1 a There is a document of this id. {"_id":"a"}');
      await page.sees('Line 3 This is not a JSON object. not JSON');
      expect(await page.ask('GET', 'library/a')).toMatchObject({ old: true });
      expect(await page.ask('GET', 'library/b')).toMatchObject({ n: 1 });
      expect(await page.violations()).toEqual([]);
    });

    test('imports a JSON list, with ids from a member, over documents that exist', async () => {
      await page.serve();
      await page.ask('PUT', 'library');
      await page.ask('PUT', 'library/NL', { name: 'Holland' });
      await page.showToAdmin('#/db/library/storage');
      await choose('list.json', '[\n  {"code": "NL", "name": "Netherlands"},\n  {"code": "PE", "name": "Peru"}\n]');
      await page.fill('Documents that exist', 'replace');
      await page.fill('Member that becomes the id, where there is no _id', 'code');
      await page.press('Review and import');
      await page.press('Import');
      await page.sees('2 documents stored from list.json.');
      expect(await page.ask('GET', 'library/NL')).toMatchObject({
        name: 'Netherlands',
        _rev: expect.stringMatching(/^2-/),
      });
      expect(await page.ask('GET', 'library/PE')).toMatchObject({ name: 'Peru' });
    });

    test('imports lines of any length', async () => {
      await page.serve();
      await page.ask('PUT', 'library');
      await page.showToAdmin('#/db/library/storage');
      await choose('long.jsonl', `{"_id":"a","text":"${'x'.repeat(100_000)}"}\n{"_id":"b"}\n`);
      await page.press('Review and import');
      await page.press('Import');
      await page.sees('2 documents stored from long.jsonl.');
    });

    test('exports JSON lines, and compacts after showing the request', async () => {
      await page.serve();
      await page.ask('PUT', 'library');
      await page.ask('PUT', 'library/a', { n: 1 });
      await page.showToAdmin('#/db/library/storage');
      await page.press('Export');
      await page.sees('1 document in library.jsonl, 18 B.');
      await page.press('Compact');
      await page.sees('The contents of replaced revisions are removed for good; their names stay.');
      await page.sees(`await fetch("/library/_compact", { method: 'POST',`);
      await page.press('Compact', '.primary');
      await page.seesNo('The contents of replaced revisions');
    });

    test('changes who may read', async () => {
      await page.serve();
      await page.ask('PUT', 'library');
      await page.showToAdmin('#/db/library/security');
      await page.sees('Everyone who reaches this server can read and write documents, also without logging in');
      await page.fill('Add to: Users who are members', 'ana');
      await page.press('Add the user to: Users who are members');
      await page.sees('After the change: Only ana and the admins of the server can read and write documents.');
      expect(await page.violations()).toEqual([]);
      await page.press('Review and store');
      await page.press('Store');
      await page.seesNo('Not stored yet.');
      expect(await page.ask('GET', 'library/_security')).toEqual({
        admins: { names: [], roles: [] },
        members: { names: ['ana'], roles: [] },
      });
    });

    test('says that everyone may do everything while there is no admin, whatever the lists say', async () => {
      await page.serve({});
      await fetch(`${page.host.baseUrl}/library`, { method: 'PUT' });
      await page.show('#/db/library/security');
      await page.sees('This server has no admin: anyone who reaches this server can do everything with this database');
      await page.sees('Once there is an admin, this holds:');
      await page.fill('Add to: Users who are members', 'ana');
      await page.press('Add the user to: Users who are members');
      await page.sees('After the change, once there is an admin: Only ana and the admins of the server can read');
      await page.press('Review and store');
      await page.sees('It has no effect before there is an admin.');
    });

    test('shows changes as they happen, with what changed', async () => {
      await page.serve();
      await page.ask('PUT', 'library');
      await page.showToAdmin('#/db/library/changes');
      await page.sees('Nothing has been written to this database yet.');
      const { rev } = (await page.ask('PUT', 'library/a', { n: 1 })) as { rev: string };
      await page.sees('a new');
      await page.ask('PUT', 'library/a', { _rev: rev, n: 2, more: true });
      await page.sees('a 2-');
      await page.press('added more; changed n');
      await page.sees('− "n": 1');
      expect(await page.violations()).toEqual([]);
      const docs = Array.from({ length: 2000 }, (_, index) => ({ _id: `many-${index}` }));
      await page.ask('POST', 'library/_bulk_docs', { docs });
      await page.sees('changes came faster than 200 a second and are not listed.');
    });
  },
);
