import type { DocumentedContract, VersionDescription } from '@petstore/api';
import { generateOpenApiDocument, type OpenAPIObject, type OpenApiRouter } from 'trpc-to-openapi';
import { SECURITY_SCHEMES } from './components.ts';
import { decorateDocument } from './decorate-document.ts';

/** Generates the OpenAPI document of one version from the router that serves it. The server serves the committed document. */
export function generateDocument(router: OpenApiRouter, about: VersionDescription): OpenAPIObject {
  const contracts = new Map<string, DocumentedContract>();
  const document = generateOpenApiDocument(router, {
    title: about.title,
    description: about.description,
    version: about.documentVersion,
    license: { name: 'MIT', identifier: 'MIT' },
    openApiVersion: '3.1.0',
    baseUrl: `/${about.version}`,
    securitySchemes: SECURITY_SCHEMES,
    filter({ metadata }) {
      const contract = metadata as unknown as DocumentedContract; // of every procedure of these routers
      contracts.set(contract.openapi.operationId, contract);
      return true;
    },
  });
  return decorateDocument(document, contracts, about);
}
