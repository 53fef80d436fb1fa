import { DatabaseError } from '../../base/errors/database-error.ts';
import { ByteBudget, MAX_WAIT_MS } from '../../base/shared/byte-budget.ts';
import { integerSetting } from '../../base/system/config.ts';
import { Counters } from '../../base/system/counters.ts';
import { DEFAULT_BYTES_IN_FLIGHT } from '../../core/core.ts';
import { FollowedSettings } from '../forwarding/followed-settings.ts';
import { createForwarder } from '../forwarding/forwarder.ts';
import type { SentSettings } from '../forwarding/frames.ts';
import { passLinks } from '../forwarding/pass-links.ts';
import { followHome } from '../server/find-home.ts';
import { listenAt, renewTls, sharingHeaders, tlsKeysOf } from '../server/listening.ts';
import { createLoggedEntries } from '../server/server-log.ts';
import type { StartMessage } from './messages.ts';
import { openReader, type Reader } from './reader.ts';
import { Reports } from './reports.ts';

/** How long a reader waits for the owner at its start, in milliseconds: the owner may restart at the same time. */
const OWNER_MS = 60_000;

/** Forwarded responses are never ready at once. See `ListenOptions.halfOpenMs`. */
const HALF_OPEN_MS = 1_000;

export interface ReaderProcess {
  /** Where it accepts requests, with a slash at the end. */
  readonly url: string;
  /** Accepts no more connections, and lets running requests end (10 seconds at most). */
  close(): Promise<void>;
}

/** Accepts requests on the port of the settings, which it shares with other readers. Fails with `storage_blocked` if the port is taken, or no owner answers. */
export async function startReader({ options, path, secret, readers, port }: StartMessage): Promise<ReaderProcess> {
  const config = new FollowedSettings();
  const bytesInFlight = new ByteBudget(0, MAX_WAIT_MS);
  let takesLinks = false;
  const onSettings = (sent: SentSettings) => {
    config.receive(sent);
    takesLinks = sent.takesLinks === true;
    bytesInFlight.resize(
      Math.ceil((integerSetting(config, 'httpd', 'max_bytes_in_flight') ?? DEFAULT_BYTES_IN_FLIGHT) / readers),
    );
  };
  const headersFor = ({ headers }: { readonly headers: Readonly<Record<string, string>> }) =>
    sharingHeaders(config, headers);
  const forwarder = createForwarder({
    path,
    secret,
    log: { error: (...said) => log.error(...said), info: (said) => log.info(said), debug: (said) => log.debug(said) },
    onSettings,
    headersFor,
  });
  const counters = new Counters();
  let reader: Reader | undefined;
  const write = (entry: string) => void process.stderr.write(`${entry}\n`);
  const reports = new Reports({ forwarder, counters, write, waitingFeeds: () => reader?.waitingFeeds ?? 0 });
  const addEntry = (entry: string, isOfClient: boolean) => reports.addEntry(entry, isOfClient);
  const log = createLoggedEntries(() => config, addEntry);
  try {
    if (!(await forwarder.whenConnected(OWNER_MS))) {
      throw new DatabaseError(
        'storage_blocked',
        'The process that owns the databases does not answer. It may be starting: try again in a moment.',
      );
    }
    const home = await followHome(options);
    const { store: storage } = home;
    const onServerRequest = () => reports.send();
    const opened = await openReader({ forwarder, config, log, bytesInFlight, counters, storage, onServerRequest });
    reader = opened;
    const { handle } = opened;
    const service = { config };
    const tls = await tlsKeysOf(config);
    const listening = {
      allowedHosts: options.allowedHosts,
      tls,
      port,
      sharers: readers,
      halfOpenMs: HALF_OPEN_MS,
      // All owners of a server take links, or none does.
      upgrade: takesLinks ? passLinks({ path, secret }) : undefined,
    };
    const http = await listenAt(service, listening, { log, addEntry, bytesInFlight, network: undefined, handle });
    const endTls = tls === undefined ? undefined : renewTls(http, config, options.tlsCheckMs, log);
    return {
      url: http.url,
      close: async () => {
        endTls?.();
        opened.beginShutdown();
        await http.close();
        await opened.close();
        await home.close();
        reports.close();
        forwarder.close();
      },
    };
  } catch (error) {
    forwarder.close();
    throw error;
  }
}
