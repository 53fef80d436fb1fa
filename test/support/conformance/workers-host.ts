import { SetteeProcess } from '../../unit/node/settee-process.ts';
import { ALLOWED_HOST, type Listen } from './node-host.ts';

/** `serve --workers`: the owner and two readers, each a process of its own. */
export const listenThroughReaders: Listen = Object.assign(
  async (...[dataFolder, settings, port]: Parameters<Listen>) => {
    const given = Object.entries(settings).flatMap(([section, keys]) =>
      Object.entries(keys).flatMap(([key, value]) => ['--set', `${section}/${key}=${value}`]),
    );
    const where = ['--port', `${port}`, '--host', '127.0.0.1', '--allow-host', ALLOWED_HOST];
    const server = new SetteeProcess([
      'serve',
      '--no-demo',
      '--workers',
      '2',
      '--data',
      dataFolder,
      ...where,
      ...given,
    ]);
    return { url: await server.url(), close: () => server.stop() };
  },
  { capabilities: { 'restart-request': 'feeds at readers go on while the owner restarts' } },
);
