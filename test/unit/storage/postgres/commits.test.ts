import { expect, test } from 'vitest';
import { Commits } from '../../../../src/storage/postgres/commits.ts';
import type { Connection, ConnectionPool } from '../../../../src/storage/postgres/connection-pool.ts';
import type { DurableHistory } from '../../../../src/storage/postgres/durable-history.ts';
import type { FileStatements } from '../../../../src/storage/postgres/statements.ts';

const OWN = { epoch: '1', owner: 'own', step: '0', page_bytes: '0', last: '1' };
const LOST = Object.assign(new Error('the connection was lost'), { code: 'ECONNRESET' });

/** The statements in their order, with what the database answers to each. */
function commitsWith(script: readonly (readonly [string, readonly object[] | Error])[]): Commits {
  const left = [...script];
  const query = async (statement: unknown) => {
    const [name, answer] = left.shift() ?? [];
    expect(statement).toBe(name);
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const connection = { server: 'server', number: 1, query } as unknown as Connection;
  const pool = {
    newest: 1,
    use: (work: (given: Connection) => unknown) => work(connection),
    patience: () => ({ wait: async () => undefined }),
  };
  const statements = { appendAfter: 'append', state: 'state', change: 'change' };
  return new Commits({
    ...{ pool: pool as unknown as ConnectionPool, statements: statements as unknown as FileStatements },
    ...{ name: 'file', id: 'id', epoch: 1, owner: 'own', pageBytes: 0, lastRecord: undefined },
    ...{ onLoss: () => undefined, history: {} as DurableHistory },
  });
}

const strict = { durability: 'strict', journal: { number: 1, text: 'record' } } as const;

test('a commit that was refused because another owner has the file was not made', async () => {
  const commits = commitsWith([
    ['append', []],
    ['state', [{ ...OWN, epoch: '2', owner: 'other', last: null }]],
  ]);
  await expect(commits.make(strict)).rejects.toMatchObject({ code: 'storage_fenced' });
});

test('a commit that was made, and that another owner prevents from being made durable, is in doubt', async () => {
  const commits = commitsWith([
    ['append', LOST],
    ['state', [OWN]],
    ['change', []],
    ['state', [{ ...OWN, epoch: '2', owner: 'other' }]],
  ]);
  await expect(commits.make(strict)).rejects.toMatchObject({ code: 'write_outcome_unknown' });
});
