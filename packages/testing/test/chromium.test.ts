import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { openChromium, openWatchedPage } from '../src/chromium.ts';

const browser = await openChromium();

const PAGE = '<link rel="icon" href="data:,"><img src="/image.png" alt="">';

/** A page whose image is responded to by `serveImage`. */
async function servePage(serveImage: RequestListener) {
  const server = createServer((request, response) => {
    if (request.url === '/image.png') serveImage(request, response);
    else response.setHeader('Content-Type', 'text/html').end(PAGE);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, // it listens on a port
    [Symbol.dispose]: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

test('a request that fails is an offence', async () => {
  using site = await servePage((request) => request.socket.destroy());
  await using visit = await openWatchedPage(browser, site.url);
  expect(visit.offences).toContain(`no response from ${site.url}image.png`);
});

test('a request that leaving the page aborts is none', async () => {
  const asked = Promise.withResolvers<void>();
  using site = await servePage(() => asked.resolve());
  await using visit = await openWatchedPage(browser, 'data:text/html,');
  const aborted = visit.page.waitForEvent('requestfailed');
  await visit.page.goto(site.url, { waitUntil: 'commit' });
  await asked.promise;
  await visit.page.goto('data:text/html,');
  await aborted;
  expect(visit.offences.filter((offence) => offence.startsWith('no response'))).toEqual([]);
});
