import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type DocumentSettings, renderDocument } from '../../src/http/render-document.ts';

const SETTINGS: DocumentSettings = { petsSunsetAt: new Date('2030-01-02T00:00:00Z') };
const PUBLIC_URL = 'http://127.0.0.1:3000';
const render = (version: 'v1' | 'v2', settings: Partial<DocumentSettings> = {}) =>
  JSON.parse(renderDocument(version, { ...SETTINGS, ...settings }, PUBLIC_URL).json);

describe('the document that is served', () => {
  test('names the address of the server, unless the settings name a public one', () => {
    const urls = (...args: Parameters<typeof render>) =>
      render(...args).servers.map(({ description, url }: Record<string, string>) => `${description}: ${url}`);
    expect(urls('v1')).toEqual(['This server: http://127.0.0.1:3000/v1']);
    const named = {
      publicBaseUrl: 'https://shop.example/api/v1',
      stagingBaseUrl: 'https://staging.shop.example/v1',
    };
    expect(urls('v1', named)).toEqual([
      'Production: https://shop.example/api/v1',
      'Staging: https://staging.shop.example/v1',
    ]);
    expect(urls('v2', named)).toEqual([
      'Production: https://shop.example/api/v2',
      'Staging: https://staging.shop.example/v2',
    ]);
    expect(render('v2', named).externalDocs.url).toBe('https://shop.example/api/docs/v2');
  });

  test('shows the sunset of the settings', () => {
    expect(render('v1').paths['/pets/{petId}'].get).toMatchObject({
      'x-sunset': '2030-01-02',
    });
    expect(render('v1').components.headers).toMatchObject({
      Sunset: { example: 'Wed, 02 Jan 2030 00:00:00 GMT' },
      OptionalSunset: { example: 'Wed, 02 Jan 2030 00:00:00 GMT' },
    });
    expect(JSON.stringify(render('v1'))).not.toContain('2027');
  });

  test('says where help is, and whether the service works, where the settings do', () => {
    const { info } = render('v1');
    expect(info.contact).toEqual({ name: 'The maintainers of Petstore Orders' });
    for (const version of ['v1', 'v2'] as const) {
      const statusPageUrl = 'https://status.shop.example/';
      const byMail = render(version, { supportContact: 'mailto:api@shop.example', statusPageUrl }).info;
      expect(byMail.contact).toEqual({ name: 'Support', email: 'api@shop.example' });
      expect(byMail.description).toMatch(
        /\n\nFor support, contact \[api@shop.example\]\(<mailto:api@shop.example>\)\. Service status: <https:\/\/status.shop.example\/>\.$/,
      );
      const supportContact = 'https://shop.example/support';
      const { contact, description } = render(version, { supportContact }).info;
      expect(contact).toEqual({ name: 'Support', url: supportContact });
      expect(description).toMatch(/\n\nFor support, contact <https:\/\/shop.example\/support>\.$/);
    }
  });

  test('has the same content as YAML', async () => {
    const { json, yaml } = renderDocument('v1', SETTINGS, PUBLIC_URL);
    expect(parse(await yaml())).toEqual(JSON.parse(json));
  });
});
