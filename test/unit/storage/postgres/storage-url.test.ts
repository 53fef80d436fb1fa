import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readStorageUrl } from '../../../../src/storage/postgres/storage-url.ts';

describe('the URL of a storage', () => {
  test('names everything', async () => {
    const url = 'postgresql://us%40er:se%2Fcret@db.example.org:6432/data?schema=other&pool=3&timeout=5&prepare=false';
    const address = await readStorageUrl(url, {});
    expect(address).toMatchObject({
      place: 'postgres://us@er@db.example.org:6432/data (schema other)',
      ...{ host: 'db.example.org', port: 6432, database: 'data', user: 'us@er' },
      ...{ schema: 'other', pool: 3, timeoutS: 5, prepares: false },
    });
    expect(await address.password()).toBe('se/cret');
  });

  test('leaves the rest to the variables of PostgreSQL, and to defaults', async () => {
    const environment = { PGHOST: '/run/postgresql', PGPORT: '5433', PGUSER: 'ada', PGPASSWORD: 'secret' };
    const address = await readStorageUrl('postgres:///', environment);
    expect(address).toMatchObject({ host: '/run/postgresql', port: 5433, user: 'ada', database: 'ada', ssl: false });
    expect(address).toMatchObject({ schema: 'settee', pool: 10, timeoutS: 30, prepares: true });
    expect(await address.password()).toBe('secret');
  });

  test('may name a file with the password, which is read for each connection', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'settee-url-'));
    const file = join(folder, 'password');
    await writeFile(file, 'first\n');
    const address = await readStorageUrl(`postgres://ada@localhost/db?passfile=${file}`, { PGPASSWORD: 'other' });
    expect(await address.password()).toBe('first');
    await writeFile(file, 'second');
    expect(await address.password()).toBe('second');
    await rm(folder, { recursive: true });
    await expect(address.password()).rejects.toThrow('the file of "passfile" can\'t be read');
  });

  test.each([
    ['localhost', '', false],
    ['127.0.0.1', '', false],
    ['db.example.org', '', { servername: 'db.example.org', rejectUnauthorized: true }],
    ['db.example.org', '?sslmode=disable', false],
    ['db.example.org', '?sslmode=require', { servername: 'db.example.org', rejectUnauthorized: false }],
    ['localhost', '?sslmode=verify-full', { servername: 'localhost', rejectUnauthorized: true }],
    ['10.0.0.1', '?sslmode=verify-full', { rejectUnauthorized: true }],
  ])('%s%s: TLS as far as it was asked for, or another machine is reached', async (host, parameters, ssl) => {
    expect((await readStorageUrl(`postgres://ada@${host}/db${parameters}`, {})).ssl).toEqual(ssl);
  });

  test.each([
    ['postgres://ada:se cret@host:port/db', 'it must be like postgres://user@host:5432/database'],
    ['postgres://ada:secret@host/db?shema=x', 'there is no parameter "shema"'],
    ['postgres://ada:secret@host/db?schema=a;b', 'the schema "a;b" is not a name'],
    ['postgres://ada:secret@host/db?pool=0', '"pool" is "0"; it must be a whole number from 1 to 1000'],
    ['postgres://ada:secret@host/db?sslmode=prefer', '"sslmode" is "prefer"; it must be one of disable, require'],
    ['postgres://ada:secret%@host/db', 'a percent sign in it does not begin a character'],
    ['https://ada:secret@host/db', 'it must be like postgres://'],
  ])('%s is refused, and never repeated', async (url, why) => {
    const refused = await readStorageUrl(url, {}).catch(String);
    expect(refused).toContain(`bad_request: The URL of the storage can't be used: ${why}`);
    expect(refused).not.toContain('secret');
  });
});
