// Package site tests the documentation as a website: it builds the site with make site, checks each page, link and image
// and the search index, and searches in a real browser. The directory hugo has the configuration, the templates and the
// styles of the site. It is a separate module, so that dwatch does not depend on an HTML parser and a browser driver.
package site
