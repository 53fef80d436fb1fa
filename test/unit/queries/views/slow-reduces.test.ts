import { expect, test } from 'vitest';
import { ViewFixture, withReader } from '../../../support/view-fixture.ts';
import { InProcessWorkers } from '../sandbox/in-process-workers.ts';
import { createTestSandbox } from '../sandbox/quickjs-files.ts';

/** Takes longer than a slice where some of the values is 5. */
const slowSum = `function (keys, values, rereduce) {
  if (values.indexOf(5) >= 0) { var until = Date.now() + 40; while (Date.now() < until); }
  return sum(values);
}`;

async function start(): Promise<{ readonly fixture: ViewFixture; readonly workers: InProcessWorkers }> {
  const workers = new InProcessWorkers(1);
  const sandbox = createTestSandbox({ workers });
  return { fixture: await ViewFixture.open({ parts: { sandbox } }), workers };
}

const views = { v: { map: 'function (doc) { emit([doc.n % 3, doc.n], doc.n); }', reduce: slowSum } };
const documents = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`d${n}`, { n }]));

test.each([false, true])(
  'a slow reduce function runs in a worker with the same result; descending: %s',
  async (descending) => {
    const { fixture, workers } = await start();
    await fixture.write(documents);
    const group = await fixture.group(views);
    await withReader(group, async (reader) => {
      const read = async (groupLevel: number) => {
        const rows: string[] = [];
        for await (const batch of reader.reduce('v', { groupLevel, descending })) {
          rows.push(...batch.map(({ keyText, valueText }) => `${keyText} ${valueText}`));
        }
        return rows;
      };
      expect(await read(0)).toEqual(['null 66']);
      const byRest = ['[0] 18', '[1] 22', '[2] 26'];
      expect(await read(1)).toEqual(descending ? byRest.toReversed() : byRest);
      const single = Array.from({ length: 12 }, (_, n) => [n % 3, n]).sort(
        ([a = 0, b = 0], [c = 0, d = 0]) => a - c || b - d,
      );
      const exact = single.map((key) => `${JSON.stringify(key)} ${key[1]}`);
      expect(await read(2)).toEqual(descending ? exact.toReversed() : exact);
    });
    expect(workers.started.flatMap(({ received }) => received)).toContain('call');
    await group.compact();
    await fixture.close();
  },
);

test('a reduce function that never ends fails its query, and no query of other views', async () => {
  const { fixture } = await start();
  const config = { svc: { os_process_timeout: '1500' } };
  const workers = new InProcessWorkers(1);
  const short = await ViewFixture.open({ config, parts: { sandbox: createTestSandbox({ workers }) } });
  await short.write(documents);
  const endless = await short.group({ v: { ...views.v, reduce: 'function () { while (true); }' } });
  await expect(withReader(endless, async () => undefined)).rejects.toMatchObject({ code: 'os_process_error' });
  const other = await short.group({ v: { ...views.v, reduce: '_sum' } });
  await withReader(other, async (reader) => expect(reader.totalRows('v')).toBe(12));
  await short.close();
  await fixture.close();
});
