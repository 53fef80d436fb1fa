import { spawnSync } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Handle, PlainRequest } from '../../../../src/base/shared/message.ts';
import { silentLog } from '../../../../src/base/system/log.ts';
import { createConfig } from '../../../../src/core/config/config-store.ts';
import { createForwarder } from '../../../../src/node/forwarding/forwarder.ts';
import { frameOf, PASSED } from '../../../../src/node/forwarding/frames.ts';
import { openOwnerSocket } from '../../../../src/node/forwarding/owner-socket.ts';
import { passLinks } from '../../../../src/node/forwarding/pass-links.ts';
import { patient } from '../../../support/patience.ts';
import { collect, Endless, textStream } from './bodies.ts';
import {
  afterThisTest,
  connect,
  errorLog,
  KEY,
  OTHER_KEY,
  ok,
  RawLink,
  request,
  serve,
  serveUpgrade,
  UPGRADE,
  useServers,
} from './linked-servers.ts';

let folder = '';
const secret = 'of this server';
const hasOpenSsl = spawnSync('openssl', ['version']).status === 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'settee-links-'));
});

afterAll(() => rm(folder, { recursive: true }));

useServers();

/** An owner and a reader that shares its port with others, in one process. */
async function ownerAndReader(handle: Handle, { log = silentLog, key = KEY, hasLinks = true } = {}) {
  const path = join(folder, 'owner');
  const config = createConfig({});
  const addresses: string[] = [];
  const owner = await openOwnerSocket({
    ...{ path, secret, handle, config: () => config, settingsVersion: () => 'a', log },
    ...{ refusal: () => undefined, onFailure: () => undefined, onReport: () => undefined },
    ...(hasLinks && { links: { key, addresses: () => addresses } }),
  });
  afterThisTest(() => owner.close(0));
  let takesLinks = false;
  const forwarder = createForwarder({
    ...{ path, secret, log: silentLog },
    onSettings: (sent) => {
      takesLinks = sent.takesLinks === true;
    },
  });
  afterThisTest(() => forwarder.close());
  await forwarder.whenConnected();
  const reader = await serveUpgrade(takesLinks ? passLinks({ path, secret }) : undefined);
  addresses.push(reader.url);
  return { url: reader.url, path, owner, forwarder };
}

describe('a link that comes to a reader', () => {
  test('reaches the owner, with streams in both directions', async () => {
    let seen: PlainRequest | undefined;
    const { url, forwarder } = await ownerAndReader(async (arrived) => {
      seen = arrived;
      return { status: 201, headers: {}, body: textStream([await collect(arrived.body), '!']) };
    });
    const links = connect();
    const answer = await links.forward(url, request('PUT', { body: textStream(['one ', 'two']), peer: '192.0.2.1' }));
    expect([answer.status, await collect(answer.body)]).toEqual([201, 'one two!']);
    expect([seen?.peer, seen?.hops]).toEqual(['192.0.2.1', 1]);
    // The reader's own requests go on as before, and are no hop.
    const own = await forwarder.handle(request('PUT', { body: new Uint8Array([65]) }));
    expect([await collect(own.body), seen?.hops]).toEqual(['A!', undefined]);
  });

  test('brings the settings to those that ask for them', async () => {
    const { url } = await ownerAndReader(() => ok);
    const versions: string[] = [];
    const links = connect({ onSettings: ({ version }) => void versions.push(version) });
    links.followSettings(url);
    await expect.poll(() => versions, patient).toEqual(['a']);
  });

  test('ends there when either end goes', async () => {
    const stream = new Endless();
    const { url } = await ownerAndReader(() => ({ status: 200, headers: {}, body: stream }));
    const links = connect();
    await links.forward(url, request('GET'));
    links.close();
    const raw = await RawLink.upgraded(url);
    raw.socket.destroy();
    await stream.cancelled;
  });

  test('has to prove itself to the owner, which logs where it comes from', async () => {
    const { errors, log } = errorLog();
    const { url } = await ownerAndReader(() => ok, { log, key: OTHER_KEY });
    const links = connect({ waitMs: 10 });
    links.retain([url]);
    await expect.poll(() => errors.length, patient).toBe(1);
    expect((await links.forward(url, request('GET'))).status).toBe(503);
    expect(errors).toEqual([
      'Something at 127.0.0.1 that does not know the key of this cluster has tried to connect as one of its servers, and was refused. It is said once for each address.',
    ]);
  });

  test('is an ordinary request if the owner takes none', async () => {
    const { url } = await ownerAndReader(() => ok, { hasLinks: false });
    const raw = new RawLink(url);
    raw.socket.write(UPGRADE.replace('Host: x', 'Host: localhost'));
    await raw.closed;
    expect(raw.received.toString()).toMatch(/^HTTP\/1\.1 200 OK\r\n[\s\S]*GET \/_settee\/link$/);
  });

  test('ends in order when the owner closes', async () => {
    const { url, owner } = await ownerAndReader(() => ok);
    const links = connect();
    await links.forward(url, request('GET'));
    const closed = owner.close(30_000);
    await expect.poll(() => links.isConnected(url), patient).toBe(false);
    void closed;
  });
});

describe.skipIf(process.platform === 'win32')('the owner', () => {
  test('takes passed links only from its readers', async () => {
    const { errors, log } = errorLog();
    const { path } = await ownerAndReader(() => ok, { log });
    const stranger = createConnection(path);
    stranger.on('error', () => undefined).resume();
    for (const part of frameOf(PASSED, 0, 'settee-forward-2 another secret 127.0.0.1')) stranger.write(part);
    await new Promise((resolve) => stranger.once('close', resolve));
    expect(errors).toEqual([
      'A process that is no reader of this server has connected to its socket, and was refused.',
    ]);
  });
});

describe.skipIf(!hasOpenSsl)('a link by https', () => {
  const file = (name: string) => join(folder, name);

  async function withCertificate(names: string) {
    const { status, stderr } = spawnSync(
      'openssl',
      [
        ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'],
        ...['-subj', '/CN=Settee', '-addext', `subjectAltName=${names}`, '-keyout', file('key'), '-out', file('pem')],
      ],
      { encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(stderr);
    const [cert, key] = await Promise.all([readFile(file('pem')), readFile(file('key'))]);
    const { url } = await serve(() => ({ status: 200, headers: {}, body: 'ä' }), { tls: { cert, key } });
    return { url, cert };
  }

  test('is made if the issuer of the certificate is trusted', async () => {
    const { url, cert } = await withCertificate('IP:127.0.0.1');
    expect(url).toMatch(/^https:/);
    const { body } = await connect({ ca: cert.toString() }).forward(url, request('GET'));
    expect(await collect(body)).toBe('ä');
  });

  test('is not made otherwise, and the log says why', async () => {
    const { url } = await withCertificate('IP:127.0.0.1');
    const { errors, log } = errorLog();
    connect({ log }).retain([url]);
    await expect
      .poll(() => errors, patient)
      .toEqual([
        `The server at ${url} can't be reached. Its certificate is not trusted: self-signed certificate. Start this server with NODE_EXTRA_CA_CERTS=FILE in its environment, where FILE is that certificate, or its issuer's, in PEM.`,
      ]);
  });

  test('is not made if the certificate is for another name', async () => {
    const { url, cert } = await withCertificate('DNS:db1.example.org');
    const { errors, log } = errorLog();
    connect({ log, ca: cert.toString() }).retain([url]);
    await expect.poll(() => errors.length, patient).toBe(1);
    expect(errors[0]).toContain("Its certificate is not trusted: Hostname/IP does not match certificate's altnames");
  });
});
