import { describe, expect, test } from 'vitest';
import { LIVE, ONCE, open, post, resultOf, useReplicators } from './opened-replicators.ts';
import { RESULT, refused, settle } from './support.ts';

useReplicators();

describe('documents that a replication refused', () => {
  test('are stored by id up to a limit, and counted', async () => {
    const service = open({ settings: { max_refused: '2' } });
    await post(service, LIVE);
    await settle();
    for (const id of ['x', 'y', 'z', 'x']) service.runs[0]?.observer.refused(refused(id));
    const [job] = service.replicator.jobs.list();
    expect(job?.ledger.count).toBe(3);
    expect(job?.ledger.list()).toEqual([refused('x'), refused('y')]);
  });

  test('are retried beside the replication, and forgotten when accepted', async () => {
    const checkpoint = { history: [{ doc_write_failures: 1, refused: [refused('old')] }, { doc_write_failures: 0 }] };
    const asked: string[] = [];
    const service = open({
      handle: ({ method, url }) => {
        asked.push(`${method} ${url}`);
        return { status: 200, headers: {}, body: JSON.stringify(checkpoint) };
      },
    });
    await post(service, LIVE);
    await settle();
    const [live] = service.runs;
    live?.observer.refused(refused('x'));
    live?.observer.refused(refused('y'));
    const retried = await post(service, { ...LIVE, retry_refused: true });
    await settle();
    expect(asked).toEqual([`GET /b/_local/${live?.checkpointId}`]);
    expect(service.runs[1]?.replication).toMatchObject({
      continuous: false,
      useCheckpoints: false,
      selection: { kind: 'ids', ids: ['old', 'x', 'y'] },
    });
    service.runs[1]?.observer.refused(refused('y'));
    service.runs[1]?.finish();
    expect(await resultOf(retried)).toEqual(RESULT);
    expect(service.replicator.jobs.list()[0]?.ledger.list()).toEqual([refused('y')]);
    expect(live?.signal.aborted).toBe(false);
  });

  test('make the run compare everything if not all are known', async () => {
    const checkpoint = { history: [{ doc_write_failures: 3, refused: [refused('old')] }] };
    const service = open({ handle: () => ({ status: 200, headers: {}, body: JSON.stringify(checkpoint) }) });
    await post(service, { ...ONCE, retry_refused: true });
    await settle();
    expect(service.runs[0]?.replication).toMatchObject({ selection: undefined, useCheckpoints: false });
  });

  test('are remembered from one run to the next', async () => {
    const service = open({ handle: () => ({ status: 200, headers: {}, body: '{"history":[]}' }) });
    await post(service, ONCE);
    await settle();
    service.runs[0]?.observer.refused(refused('x'));
    service.runs[0]?.finish();
    await settle();
    await post(service, ONCE);
    await settle();
    service.runs[1]?.finish();
    await settle();
    await post(service, { ...ONCE, retry_refused: true });
    await settle();
    expect(service.runs[2]?.replication.selection).toEqual({ kind: 'ids', ids: ['x'] });
  });
});
