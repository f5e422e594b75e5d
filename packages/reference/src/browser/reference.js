/** @import { AnyApiReferenceConfiguration, CreateApiReference } from '@scalar/types/api-reference' */
/** @import { OpenApiDocument } from './open-api.d.ts' */
/** @import { Site } from './prepare-document.js' */
import { prepareDocument } from './prepare-document.js';

/** The data that the server has written into the page. */
const site = /** @type {Site & { bundleUrl: string }} */ (
  JSON.parse(document.getElementById('site')?.textContent ?? '')
);

try {
  const [{ createApiReference }, openApi] = await Promise.all([loadBundle(), loadDocument()]);
  const baseUrl = new URL(site.baseUrl, location.href).href;
  createApiReference('#reference', configurationFor(prepareDocument(openApi, { ...site, baseUrl })));
} catch (error) {
  document.getElementById('reference-failure')?.removeAttribute('hidden');
  throw error;
}

/** @returns {Promise<{ createApiReference: CreateApiReference }>} */
function loadBundle() {
  return import(new URL(site.bundleUrl, location.href).href);
}

/** @returns {Promise<OpenApiDocument>} */
async function loadDocument() {
  const response = await fetch(site.documentUrl);
  if (!response.ok) throw new Error(`The document could not be loaded: ${response.status}.`);
  return response.json();
}

/**
 * @param {OpenApiDocument} content
 * @returns {AnyApiReferenceConfiguration}
 */
function configurationFor(content) {
  const anchors = operationAnchors(content);
  return {
    content: /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (content)),
    // Nothing is sent to another host, and no button links to a third-party service.
    telemetry: false,
    withDefaultFonts: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    hideClientButton: true,
    showDeveloperTools: 'never',
    documentDownloadType: 'none',
    // The key is kept in this page's memory only.
    persistAuth: false,
    // Our samples are complete programs; the built-in ones ignore the response.
    hiddenClients: true,
    // The header of every page has both, and its search also finds the guides.
    hideDarkModeToggle: true,
    hideSearch: true,
    authentication: { preferredSecurityScheme: 'bearerAuth' },
    orderSchemaPropertiesBy: 'preserve',
    orderRequiredPropertiesFirst: false,
    defaultOpenAllTags: true,
    showOperationId: true,
    // `/docs#cancelOrder` links to the operation, whatever its path and tag.
    generateOperationSlug: ({ operationId, method, path }) => operationId ?? `${method}${path}`,
    generateTagSlug: ({ name }) => name ?? '',
    redirect: (hash) => anchors.get(hash) ?? null,
  };
}

/**
 * @param {OpenApiDocument} content
 * @returns {Map<string, string>}
 */
function operationAnchors({ paths }) {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  return new Map(operations.map(({ operationId, tags: [tag] }) => [`#${operationId}`, `#tag/${tag}/${operationId}`]));
}
