import type { Page, WatchedPage } from '@petstore/testing/chromium';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { eventually, PHONE, useSiteBrowser, waitForReference, widthOf } from '../support/site-browser.ts';

const { openPage, origin, visit, visitReference } = await useSiteBrowser();

const expectToShowStatuses = async (page: Page) => {
  const card = page.locator('.response-card').filter({ hasText: '410' }).last();
  const tab = card.getByRole('tab', { name: /default/ });
  await tab.waitFor();
  // Before the click, which would scroll to it.
  const [box, list] = [await tab.boundingBox(), await card.getByRole('tablist').boundingBox()];
  expect((box?.x ?? Infinity) + (box?.width ?? 0)).toBeLessThanOrEqual((list?.x ?? 0) + (list?.width ?? 0));
  await tab.click();
  await eventually(() => tab.getAttribute('aria-selected')).toBe('true');
};

describe('the reference', () => {
  // One page for what reads it, since drawing one takes seconds of a processor.
  let reference: WatchedPage;
  beforeAll(async () => {
    reference = await visitReference('/docs#tag/orders/cancelOrder');
  });
  afterAll(() => reference[Symbol.asyncDispose]());

  test('opens at the operation of /docs#tag/orders/cancelOrder', async () => {
    const heading = reference.page.getByRole('heading', { name: 'Cancel an order' });
    await eventually(async () => (await heading.boundingBox())?.y).toBeLessThan(300);
    expect(new URL(reference.page.url()).hash).toBe('#tag/orders/cancelOrder');
  });

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

  test('shows every status of a response, to be chosen', () => expectToShowStatuses(reference.page));

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
    await reference.page.getByRole('link', { name: 'order_not_found' }).first().click();
    await reference.page.waitForURL('**/docs/errors/order_not_found');
    expect(reference.offences).toEqual([]);
  });
});

describe('the reference on a phone', () => {
  let reference: WatchedPage;
  beforeAll(async () => {
    reference = await visitReference('/docs#getPetById', PHONE);
  });
  afterAll(() => reference[Symbol.asyncDispose]());

  test('shows every status of a response, to be chosen', () => expectToShowStatuses(reference.page));

  test('fits', async () => {
    // Where there is little room, operations are drawn when they come into sight.
    await reference.page.getByRole('heading', { name: 'List all orders' }).scrollIntoViewIfNeeded();
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

describe('the reference of v2', () => {
  let reference: WatchedPage;
  beforeAll(async () => {
    reference = await visit('/docs/v2#listOrdersPage');
  });
  afterAll(() => reference[Symbol.asyncDispose]());

  test('shows its operations alone, with samples that name v2', async () => {
    await reference.page.getByRole('heading', { name: 'List orders, page by page' }).first().waitFor();
    await eventually(() => reference.page.locator('.code-snippet').first().textContent()).toContain(
      `${origin}/v2/store/orders`,
    );
    await reference.page.getByRole('heading', { name: 'Cancel an order' }).first().waitFor();
    expect(await reference.page.getByText('List all orders').count()).toBe(0);
    await reference.page.getByText('shipDateFrom').first().waitFor();
    expect(reference.offences).toEqual([]);
  });

  test('leads to the reference of v1, and back', async () => {
    const header = reference.page.getByRole('navigation', { name: 'Documentation' });
    await header.getByRole('link', { name: 'Reference', exact: true }).click();
    await waitForReference(reference.page);
    await header.getByRole('link', { name: 'v2 reference' }).click();
    await reference.page.getByRole('heading', { name: 'Petstore Orders, v2 preview' }).first().waitFor();
  });
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
