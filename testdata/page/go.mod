module dwatch/testdata/page

go 1.26.0

require (
	dwatch v0.0.0
	github.com/chromedp/chromedp v0.22.1
)

replace dwatch => ../..
