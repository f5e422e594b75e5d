import type { WatchedPage } from '@petstore/testing/chromium';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ERROR_CODES } from '../support/site.ts';
import { eventually, useSiteBrowser } from '../support/site-browser.ts';

const { origin, visit } = await useSiteBrowser();

describe('the reference', () => {
  let reference: WatchedPage;
  beforeAll(async () => {
    reference = await visit('/docs#cancelOrder');
  });
  afterAll(() => reference[Symbol.asyncDispose]());

  const topOf = async (name: string) =>
    (await reference.page.getByRole('heading', { name: new RegExp(`^${name}`) }).boundingBox())?.y;

  test('opens at the operation of /docs#cancelOrder', async () => {
    await eventually(() => topOf('Cancel an order')).toBeLessThan(120);
    expect(await topOf('Cancel an order')).toBeGreaterThan(52); // below the header
  });

  test('goes to an operation while it is open', async () => {
    await reference.page.evaluate(() => {
      location.hash = '#listOrders';
    });
    await eventually(() => topOf('List all orders')).toBeLessThan(120);
    await reference.page.evaluate(() => {
      location.hash = '#getPetById';
    });
    await eventually(() => topOf('Find a pet by its identifier')).toBeLessThan(200);
    expect(new URL(reference.page.url()).hash).toBe('#getPetById');
  });

  test('has no link to another host', async () => {
    const links = await reference.page
      .locator('a[href]')
      .evaluateAll((anchors: HTMLAnchorElement[]) => anchors.map(({ href }) => href));
    expect(links.filter((href) => new URL(href).origin !== origin)).toEqual([]);
  });

  test('shows one language in all samples', async () => {
    const shown = () =>
      reference.page.locator('.samples pre:visible').evaluateAll((all) => all.map((pre) => pre.dataset['language']));
    await reference.page.getByRole('radio', { name: 'TypeScript' }).first().check();
    expect(await shown()).toEqual(['typescript', 'typescript', 'typescript']);
    await reference.page.getByRole('radio', { name: 'curl' }).last().check();
    expect(await shown()).toEqual(['bash', 'bash', 'bash']);
  });

  test('has a console that says where keys come from, and does not offer an order to cancel', async () => {
    await reference.page.getByRole('button', { name: 'Try it: Cancel an order' }).click();
    const form = reference.page.getByRole('form', { name: 'Try it: Cancel an order' });
    await form.getByRole('link', { name: 'Where keys come from' }).waitFor();
    expect(await form.getByLabel('orderId').getAttribute('placeholder')).toBeNull();
    expect(reference.offences).toEqual([]);
  });
});

describe('the reference without JavaScript', () => {
  let reference: WatchedPage;
  let text = '';
  beforeAll(async () => {
    reference = await visit('/docs', { javaScriptEnabled: false });
    // biome-ignore lint/performance/useDomNodeTextContent: what is hidden does not count
    text = await reference.page.locator('main').innerText();
  });
  afterAll(() => reference[Symbol.asyncDispose]());

  test.each([
    [
      'each operation',
      ['List all orders', 'GET', '/v1/store/orders', 'DELETE', '/v1/store/orders/{orderId}', 'Sunset 2027-06-30'],
    ],
    ['parameters', ['orderId', 'integer (int64)', 'required']],
    [
      'statuses with their codes',
      [
        '204 No Content',
        '409 Conflict',
        ...ERROR_CODES.filter((code) => /_(?:shipped|cancelled)$/.test(code) && code !== 'order_not_shipped'),
      ],
    ],
    ['limit headers', ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset', 'Retry-After']],
    ['samples', ['curl --include --request DELETE', '$ORDER_ID']],
    ['schemas', ['Error', 'Whether the order has been fulfilled.']],
  ])('shows %s', (_, parts) => {
    for (const part of parts) expect(text).toContain(part);
  });

  test('offers no console, which would not work', async () => {
    expect(await reference.page.getByRole('button', { name: /^Try it/ }).count()).toBe(0);
    expect(await reference.page.getByRole('textbox').count()).toBe(0);
  });

  test('lets one choose another language', async () => {
    const operation = reference.page.locator('section', { has: reference.page.locator('#cancelOrder') });
    await operation.getByRole('radio', { name: 'TypeScript' }).check();
    await operation.getByText("method: 'DELETE'").waitFor();
  });
});

test('the reference can be read after 25 kB in two steps: within 1.5 s at 50 kB/s and 400 ms a step', async () => {
  await using reference = await visit('/docs');
  const needed = await reference.page.evaluate(() =>
    [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      .map((entry) => entry.toJSON())
      .filter(
        ({ entryType, renderBlockingStatus }) => entryType === 'navigation' || renderBlockingStatus === 'blocking',
      )
      .map(({ name, encodedBodySize }) => ({ name: name.replace(/^.*\//, ''), bytes: encodedBodySize })),
  );
  expect(needed.map(({ name }) => name).sort()).toEqual(['docs', 'styles.css']);
  expect(needed.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThan(25_000);
});

test('the reference of v2 shows its operations alone, with samples that name v2', async () => {
  await using reference = await visit('/docs/v2#listOrdersPage');
  const main = reference.page.locator('main');
  const headings = await main.getByRole('heading', { level: 2 }).allTextContents();
  expect(headings.map((heading) => heading.replace(/\s#$/, ''))).toEqual([
    'Describe the key',
    'Get the rate limit status of the key',
    'Follow the changes of orders',
    'List orders, page by page',
    'Find an order by its identifier',
    'Cancel an order',
    'Schemas',
    'Headers of responses',
  ]);
  expect(await main.textContent()).toContain(`${origin}/v2/store/orders?status=pending&limit=100`);
  expect(reference.offences).toEqual([]);
  await main.getByRole('button', { name: 'Try it: List orders' }).click();
  const form = main.getByRole('form', { name: 'Try it: List orders' });
  await form.getByLabel('status').selectOption('cancelled');
  await form.getByRole('textbox', { name: /^limit/ }).fill('5');
  const request = reference.page.waitForRequest('**/v2/store/orders?**');
  await form.getByRole('button', { name: 'Send GET' }).click();
  expect((await request).url()).toBe(`${origin}/v2/store/orders?status=cancelled&limit=5`);
});

test('each operation says how stable it is, unless it is stable, and whether it is deprecated', async () => {
  await using reference = await visit('/docs');
  const marks = () => reference.page.locator('p.endpoint').allInnerTexts();
  expect(await marks()).toEqual([
    'GET /v1/store/orders',
    'DELETE /v1/store/orders/{orderId}',
    'GET /v1/pets/{petId} Deprecated Sunset 2027-06-30',
  ]);
  await reference.page.getByRole('navigation', { name: 'Version' }).getByRole('link', { name: 'v2' }).click();
  await reference.page.getByRole('heading', { name: 'Petstore Orders, v2 preview' }).waitFor();
  expect(await marks()).toEqual([
    'GET /v2/key Beta',
    'GET /v2/limits Beta',
    'GET /v2/store/order-events Experimental',
    'GET /v2/store/orders Experimental',
    'GET /v2/store/orders/{orderId} Beta',
    'DELETE /v2/store/orders/{orderId} Beta',
  ]);
});

test('the version is switched in the header', async () => {
  await using reference = await visit('/docs');
  const switcher = reference.page.getByRole('navigation', { name: 'Version' });
  await switcher.getByRole('link', { name: 'v2' }).click();
  await reference.page.getByRole('heading', { name: 'Petstore Orders, v2 preview' }).waitFor();
  await switcher.getByRole('link', { name: 'v1' }).click();
  await reference.page.getByRole('heading', { name: /^List all orders/ }).waitFor();
});
