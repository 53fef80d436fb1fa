import { afterEach, describe, expect, test, vi } from 'vitest';
import { leaveOthers, patternBelow } from '../../../../src/browser/sw/static-routes.ts';

afterEach(() => {
  vi.unstubAllGlobals();
});

describe('static routes', () => {
  test('send addresses below a base to the fetch listener, and app code to the network', async () => {
    vi.stubGlobal(
      'URLPattern',
      class {
        readonly init: unknown;
        constructor(init: unknown) {
          this.init = init;
        }
      },
    );
    const addRoutes = vi.fn(async () => {});
    const waitUntil = vi.fn();
    const event = Object.assign(new Event('install'), { addRoutes, waitUntil });
    leaveOthers(event, ['https://app.example/db/']);
    const pattern = { protocol: 'https', hostname: 'app.example', port: '', pathname: '/db/*' };
    expect(addRoutes.mock.calls).toEqual([
      [
        [
          { condition: { urlPattern: { init: pattern } }, source: 'fetch-event' },
          {
            condition: {
              or: [
                { requestMode: 'navigate' },
                { requestDestination: 'script' },
                { requestDestination: 'style' },
                { requestDestination: 'font' },
                { requestDestination: 'manifest' },
                { requestDestination: 'worker' },
                { requestDestination: 'sharedworker' },
              ],
            },
            source: 'network',
          },
        ],
      ],
    ]);
  });

  test('fail without an effect on the installation', async () => {
    vi.stubGlobal('URLPattern', class {});
    const waits: Promise<unknown>[] = [];
    const event = Object.assign(new Event('install'), {
      addRoutes: () => Promise.reject(new TypeError('no')),
      waitUntil: (promise: Promise<unknown>) => void waits.push(promise),
    });
    leaveOthers(event, ['https://app.example/db/']);
    await expect(Promise.all(waits)).resolves.toEqual([undefined]);
  });

  test('are not used if the browser has none', () => {
    const waitUntil = vi.fn();
    leaveOthers(Object.assign(new Event('install'), { waitUntil }), ['https://app.example/db/']);
    expect(waitUntil).not.toHaveBeenCalled();
  });

  test('escape special characters of a base', () => {
    expect(patternBelow('http://127.0.0.1:8080/a+b(c)/')).toEqual({
      protocol: 'http',
      hostname: '127.0.0.1',
      port: '8080',
      pathname: '/a\\+b\\(c\\)/*',
    });
    // Where a colon was left as it is a pattern would have a group there, without a name.
    expect(patternBelow('http://[::1]:8080/db/')).toMatchObject({ hostname: '[\\:\\:1]', pathname: '/db/*' });
  });
});
