import type { WatchedPage } from '@petstore/testing/chromium';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually, PHONE, useSiteBrowser, waitUntilLoaded, widthOf } from '../support/site-browser.ts';

const { openPage, origin, visit, visitReference } = await useSiteBrowser();

describe('the reference', () => {
  // One page for what reads it, since drawing one takes seconds of a processor.
  let reference: WatchedPage;
  beforeAll(async () => {
    reference = await visitReference('/docs#cancelOrder');
  });
  afterAll(() => reference[Symbol.asyncDispose]());

  test('offers no service of others; the only way out is the name of who made the bundle', async () => {
    const links = await reference.page
      .locator('a[href]')
      .evaluateAll((anchors: HTMLAnchorElement[]) => anchors.map(({ href }) => href));
    expect(links.filter((href) => new URL(href).origin !== origin)).toEqual(['https://www.scalar.com/']);
    expect(
      await reference.page.getByRole('button', { name: /Ask|AI|VS Code|Cursor|Client|Deploy|Share/ }).count(),
    ).toBe(0);
  });

  test('shows every operation, section and schema', async () => {
    const sidebar = reference.page.locator('aside');
    for (const name of [
      'List all orders',
      'Cancel an order',
      'Find a pet by its identifier',
      'Store',
      'Pets',
      'Order',
      'Error',
    ]) {
      await eventually(() => sidebar.getByText(name, { exact: true }).count()).toBeGreaterThan(0);
    }
  });

  test('has samples in four languages, that name this server', async () => {
    const operation = reference.page
      .locator('section', { has: reference.page.getByRole('heading', { name: 'Cancel an order' }) })
      .last();
    for (const [language, text] of [
      ['TypeScript', 'await fetch'],
      ['Python', 'requests.delete'],
      ['Go', 'http.NewRequest'],
      ['curl', '--request DELETE'],
    ] as const) {
      await operation.getByTestId('client-picker').click();
      await reference.page.getByRole('option', { name: language, exact: true }).click();
      await eventually(() => operation.locator('.code-snippet').textContent()).toContain(text);
      await eventually(() => operation.locator('.code-snippet').textContent()).toContain(`${origin}/v1/store/orders/1`);
    }
    expect(reference.offences).toEqual([]);
  });

  test('loads from here alone, and breaks neither its policy nor anything else', async () => {
    await reference.page
      .getByRole('button', { name: /Test Request/ })
      .first()
      .click();
    await reference.page.getByRole('button', { name: /^Send/ }).first().waitFor();
    expect(reference.offences).toEqual([]);
    await reference.page.keyboard.press('Escape');
  });

  test('leads from a response to the page of its error code', async () => {
    await waitUntilLoaded(reference.page);
    await reference.page.getByRole('link', { name: 'order_not_found' }).first().click();
    await reference.page.waitForURL('**/docs/errors/order_not_found');
    expect(reference.offences).toEqual([]);
  });

  test.each(['/docs#cancelOrder', '/docs#tag/orders/cancelOrder'])('opens at the operation of %s', async (path) => {
    await using reference = await visitReference(path);
    const heading = reference.page.getByRole('heading', { name: 'Cancel an order' });
    await eventually(async () => (await heading.boundingBox())?.y).toBeLessThan(300);
    await eventually(() => new URL(reference.page.url()).hash).toBe('#tag/orders/cancelOrder');
  });

  test('fits on a phone', async () => {
    // Where there is little room, operations are drawn when they come into sight.
    await using reference = await visitReference('/docs#listOrders', PHONE);
    await eventually(() => widthOf(reference.page)).toBeLessThanOrEqual(390);
    await reference.page
      .getByRole('button', { name: /Test Request/ })
      .first()
      .click();
    const address = reference.page.getByRole('dialog').locator('.address-bar-bg-states');
    await eventually(async () => (await address.boundingBox())?.width).toBeGreaterThan(250);
    // The button that opens the list is to the left of it, and not on it.
    await eventually(async () => (await address.boundingBox())?.x).toBeGreaterThan(44);
    expect(reference.offences).toEqual([]);
  });
});

test('the reference of v2 shows its operations alone, with samples that name v2', async () => {
  await using reference = await visit('/docs/v2#listOrdersPage');
  await reference.page.getByRole('heading', { name: 'List orders, page by page' }).first().waitFor();
  await eventually(() => reference.page.locator('.code-snippet').first().textContent()).toContain(
    `${origin}/v2/store/orders`,
  );
  await reference.page.getByRole('heading', { name: 'Cancel an order' }).first().waitFor();
  expect(await reference.page.getByText('List all orders').count()).toBe(0);
  await reference.page.getByText('shipDateFrom').first().waitFor();
  expect(reference.offences).toEqual([]);
});

test.each([1440, 390])('every status of a response can be seen and chosen %d pixels wide', async (width) => {
  await using reference = await visitReference('/docs#getPetById', { viewport: { width, height: 900 } });
  const card = reference.page.locator('.response-card').filter({ hasText: '410' }).last();
  const tab = card.getByRole('tab', { name: /default/ });
  await tab.waitFor();
  // Before the click, which would scroll to it.
  const [box, list] = [await tab.boundingBox(), await card.getByRole('tablist').boundingBox()];
  expect((box?.x ?? Infinity) + (box?.width ?? 0)).toBeLessThanOrEqual((list?.x ?? 0) + (list?.width ?? 0));
  await tab.click();
  await eventually(() => tab.getAttribute('aria-selected')).toBe('true');
});

test('without JavaScript the reference leads to what can be read', async () => {
  await using reference = await visit('/docs', { javaScriptEnabled: false });
  expect(await reference.page.locator('noscript .notice').isVisible()).toBe(true);
  expect(await reference.page.getByRole('link', { name: 'Errors' }).isVisible()).toBe(true);
});

test('a document that does not load is reported', async () => {
  const page = await openPage();
  await page.route('**/v1/openapi.json', (route) => route.fulfill({ status: 503 }));
  await page.goto(`${origin}/docs`);
  await page.getByRole('alert').getByText('could not be loaded').waitFor();
  await page.close();
});
