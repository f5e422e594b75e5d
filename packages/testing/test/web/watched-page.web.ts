import type { RequestListener } from 'node:http';
import { expect, test } from 'vitest';
import { openChromium, openWatchedPage } from '../../src/chromium.ts';
import { startHttpServer } from '../../src/http-server.ts';

const browser = await openChromium();

const PAGE = '<link rel="icon" href="data:,"><img src="/image.png" alt="">';

/** A page whose image is responded to by `serveImage`. */
const servePage = (serveImage: RequestListener) =>
  startHttpServer((request, response) => {
    if (request.url === '/image.png') serveImage(request, response);
    else response.setHeader('Content-Type', 'text/html').end(PAGE);
  });

test('a request that fails is an offence', async () => {
  await using site = await servePage((request) => request.socket.destroy());
  await using visit = await openWatchedPage(browser, site.origin);
  expect(visit.offences).toContain(`no response from ${site.origin}/image.png`);
});

test('a request that leaving the page aborts is none', async () => {
  const asked = Promise.withResolvers<void>();
  await using site = await servePage(() => asked.resolve());
  await using visit = await openWatchedPage(browser, 'data:text/html,');
  const aborted = visit.page.waitForEvent('requestfailed');
  await visit.page.goto(site.origin, { waitUntil: 'commit' });
  await asked.promise;
  await visit.page.goto('data:text/html,');
  await aborted;
  expect(visit.offences.filter((offence) => offence.startsWith('no response'))).toEqual([]);
});
