import { DatabaseError } from '../../base/errors/database-error.ts';
import { ByteBudget, MAX_WAIT_MS } from '../../base/shared/byte-budget.ts';
import { systemClock } from '../../base/shared/clock.ts';
import { integerSetting } from '../../base/system/config.ts';
import type { Settings } from '../../base/system/contract.ts';
import { createLog, followLogLevel } from '../../base/system/log.ts';
import { DEFAULT_BYTES_IN_FLIGHT } from '../../core/core.ts';
import { createForwarder } from '../forwarding/forwarder.ts';
import { listenAt, renewTls, sharingHeaders, tlsKeysOf } from '../server/listening.ts';
import type { StartMessage } from './messages.ts';
import { openReader } from './reader.ts';
import { ReceivedSettings } from './received-settings.ts';

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
  let config = new ReceivedSettings({});
  const log = createLog({
    level: followLogLevel(() => config),
    hasRequests: () => false,
    clock: systemClock,
    write: (entry) => void process.stderr.write(`${entry}\n`),
  });
  const bytesInFlight = new ByteBudget(0, MAX_WAIT_MS);
  const onSettings = (settings: Settings) => {
    config = new ReceivedSettings(settings);
    bytesInFlight.resize(
      Math.ceil((integerSetting(config, 'httpd', 'max_bytes_in_flight') ?? DEFAULT_BYTES_IN_FLIGHT) / readers),
    );
  };
  const headersFor = ({ headers }: { readonly headers: Readonly<Record<string, string>> }) =>
    sharingHeaders(config, headers);
  const forwarder = createForwarder({ path, secret, log, onSettings, headersFor });
  try {
    if (!(await forwarder.whenConnected(OWNER_MS))) {
      throw new DatabaseError('storage_blocked', 'The process that owns the databases does not answer');
    }
    const reader = await openReader({ forwarder });
    const { handle } = reader;
    const service = {
      get config() {
        return config;
      },
    };
    const tls = await tlsKeysOf(config);
    // Requests from other machines are refused by the owner if there is no admin.
    const listening = {
      allowedHosts: options.allowedHosts,
      tls,
      port,
      sharers: readers,
      halfOpenMs: HALF_OPEN_MS,
      hasAdmin: () => true,
    };
    const http = await listenAt(service, listening, { log, bytesInFlight, network: undefined, handle });
    const endTls = tls === undefined ? undefined : renewTls(http, config, options.tlsCheckMs, log);
    return {
      url: http.url,
      close: async () => {
        endTls?.();
        await http.close();
        await reader.close();
      },
    };
  } catch (error) {
    forwarder.close();
    throw error;
  }
}
